"""Rules for the help of every command."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from edl.frameworks import FRAMEWORKS
from kubectl_edl.cli import command_errors
from kubectl_edl.cli.command_errors import Exit
from kubectl_edl.cli.root import CLI, COMMANDS
from tests.kubectl_edl.stage import Stage

ROOT = Path(__file__).parents[3]

_EXAMPLE = re.compile(r"^ +(?:\S.*?)??\bkubectl edl (\S+?)\b", re.MULTILINE)
_CODE = re.compile(r"(?:Exit codes?:?|,)\s+(\d+)\b|^ {4,}(\d+)  [a-z]", re.MULTILINE)
"""Where a code is explained: in the sentence at the end, in one of its own, or in a table."""
_USUAL = {Exit.DONE, Exit.REFUSED, Exit.USAGE, Exit.INTERRUPTED}
_NAMED = (
    *("status", "explain", "simulate", "scale", "history", "events", "top jobs", "top nodes"),
    *("create", *(f"create {framework}" for framework in FRAMEWORKS)),
    *("top", "pause", "resume", "delete", "logs", "adopt", "release"),
)
"""Commands that take the name of an object, or create one in a namespace."""
_OWN_CODES = {
    "scale": {Exit.REVERTED, Exit.TIMED_OUT},
    "status": {Exit.TIMED_OUT, Exit.ENDED_OTHERWISE},
    "convert": {Exit.NOT_CONVERTED},
    **{name: {Exit.TIMED_OUT} for name in ("install", "upgrade", "uninstall", "delete")},
}
"""Commands that end otherwise, too, and with what. `Stage.run` checks that these are all."""


def command_lines(name: str) -> Iterator[tuple[str, ...]]:
    """The command, and a group's own ones."""
    yield (name,)
    context = click.Context(CLI, info_name="kubectl edl")
    command = CLI.get_command(context, name)
    if isinstance(command, click.Group):
        yield from ((name, part) for part in command.list_commands(context))


Helped = Callable[..., str]


@pytest.fixture
def helped(capsys: pytest.CaptureFixture[str]) -> Helped:
    """What `--help` prints, by click itself on stdout."""

    def read(*command: str) -> str:
        assert Stage().run(*command, "--help").code == 0
        return capsys.readouterr().out

    return read


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_a_sentence_and_has_two_examples_at_least(
    name: str, helped: Helped
) -> None:
    for command in command_lines(name):
        usage, _, text = helped(*command).partition("\n\n")
        assert usage.startswith(f"Usage: kubectl edl {command[0]}")
        assert text.strip()[0].isupper()
        examples = _EXAMPLE.findall(text.partition("Examples:")[2])
        assert examples.count(name) >= 2, command
        assert max(map(len, text.splitlines())) <= 100
        assert "apiVersion" not in text, "docs/reference/outputs.md has the fields"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_the_exit_codes(name: str, helped: Helped) -> None:
    for command in command_lines(name):
        text = helped(*command)
        assert "Exit codes: 0 " in text, command
        said = {int(code) for pair in _CODE.findall(text) for code in pair if code}
        found = {Exit.NOT_FOUND} if " ".join(command) in _NAMED else set()
        assert said == _USUAL | found | _OWN_CODES.get(name, set()), command
        line = " ".join(text.rpartition("Exit codes: ")[2].split())
        listed = {int(code) for code in re.findall(r"(?:^|, )([0-9]+) ", line)}
        assert listed == said, "the line at the end has them all"


def test_every_exit_code_is_documented_in_one_place() -> None:
    table = re.findall(r"^\| (\d+) \| (.+) \|$", command_errors.__doc__ or "", re.MULTILINE)
    assert [int(code) for code, _ in table] == sorted(Exit)
    assert all(meaning for _, meaning in table)


@pytest.mark.parametrize("name", ["install", "upgrade", "uninstall", "delete", "logs", "dashboard"])
def test_help_names_the_default_of_a_pair_of_flags(name: str, helped: Helped) -> None:
    text = " ".join(helped(name).split())
    pairs = re.findall(r"--(\S+) / --no-\1 ", text)
    assert len(pairs) == 1
    assert f"[default: {pairs[0]}]" in text


def test_help_of_create_shows_the_options_that_all_frameworks_have(helped: Helped) -> None:
    def options(*command: str) -> set[str]:
        text = helped(*command).partition("\nOptions:")[2]
        return {*re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)}

    everywhere = set.intersection(*(options("create", framework) for framework in FRAMEWORKS))
    assert {"--image", "--required-topology", "--namespace", "--dry-run"} <= everywhere
    assert everywhere - options("create") == {"--mode", "--set", "--workers"} & everywhere


@pytest.mark.parametrize("name", ["scale", "simulate", "status"])
def test_the_first_screen_has_the_purpose_examples_and_a_page_with_more(
    name: str, helped: Helped
) -> None:
    text = helped(name).partition("\nOptions:")[0]
    assert max(map(len, text.splitlines())) <= 80
    screen = "\n".join(text.splitlines()[:24])
    assert len(_EXAMPLE.findall(screen.partition("Examples:")[2])) >= 3
    pages = re.findall(r"\b(docs/tasks/\S+?\.md)\b", screen)
    assert pages
    assert [page for page in pages if not (ROOT / page).is_file()] == []
