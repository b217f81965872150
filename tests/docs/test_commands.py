"""Every `kubectl edl` command that a document shows is one that the plugin takes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from kubectl_edl.cli.lazy_group import command_first
from kubectl_edl.cli.root import CLI
from tests.docs.pages import ROOT, blocks, pages

_HERE: Final = re.compile(r"<<'?(\w+)'?.*?^\1$", re.MULTILINE | re.DOTALL)
_PROMPT: Final = re.compile(r"^\s*\$ (.+)$", re.MULTILINE)
_CONSOLE: Final = re.compile(r"^[ ]*```(?:console)?\n(.*?)```", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"`(kubectl edl [^`]+)`")
_ENDS: Final = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "<", "(", ")", "<("})
_STANDS_FOR: Final = re.compile(r"…|\[|\.\.\.|\b(?:COMMAND|show\|verify)\b")
"""Marks of a command that is a pattern, not one to type."""
_UNFINISHED: Final = (
    click.MissingParameter,
    click.BadOptionUsage,
    click.exceptions.NoArgsIsHelpError,
)


def lines(page: Path) -> Iterator[str]:
    """The command lines of a page, with continuation lines joined."""
    for block in blocks(page, skipped=True):
        yield from _HERE.sub("", block).replace("\\\n", " ").splitlines()
    for block in _CONSOLE.findall(page.read_text()):
        yield from _PROMPT.findall(block)


def mentions(page: Path) -> list[str]:
    return _INLINE.findall(page.read_text())


def plugin_calls(line: str) -> Iterator[list[str]]:
    """The arguments of each `kubectl edl` in a line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in _ENDS:
            words.append(word)
            continue
        if words[:2] == ["kubectl", "edl"]:
            yield words[2:]
        words = []


def refusal(args: list[str], *, mentioned: bool) -> str:
    """Why the plugin does not take a command line, or an empty text.

    A command that a sentence mentions, such as `kubectl edl history`, may lack arguments.
    """
    command: click.Command = CLI
    name, rest = "kubectl edl", command_first(list(args))
    try:
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            name, *rest = rest
            found = command.get_command(click.Context(command), name)
            if found is None:
                return f'there is no command "{name}"'
            command = found
        command.make_context(name, rest)
    except _UNFINISHED as error:
        return "" if mentioned else error.format_message()
    except click.exceptions.Exit:
        return ""
    except click.UsageError as error:
        return error.format_message()
    return ""


def shown(page: Path) -> dict[str, bool]:
    """The lines of a page with `kubectl edl`, and whether a sentence mentions them."""
    found = dict.fromkeys(lines(page), False) | dict.fromkeys(mentions(page), True)
    return {
        line.strip(): inline
        for line, inline in found.items()
        if "kubectl edl" in line and not _STANDS_FOR.search(line)
    }


def test_the_documents_show_commands() -> None:
    assert sum(len(shown(page)) for page in pages()) > 150


@pytest.mark.parametrize(
    "page", [page for page in pages() if shown(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_plugin_takes_every_command_that_a_page_shows(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    refusals = {
        line: refusal(args, mentioned=inline)
        for line, inline in shown(page).items()
        for args in plugin_calls(line)
    }
    assert {line: text for line, text in refusals.items() if text} == {}
