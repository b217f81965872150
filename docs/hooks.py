"""What the documentation takes from the code and the examples when it is built.

A page holds a line that names what the site shows instead, so that nothing is written a second
time, and a reader of the clone follows its link: `The example: [examples/none](…).` the README and
the files of an example, `The document: [X.md](…).` a document of the repository. The comment
`<!-- commands -->` becomes the list of commands. Each command of the plugin has a page of its own
below reference/cli, made here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from kubectl_edl.cli.root import CLI, COMMANDS

ROOT: Final = Path(__file__).parent.parent
EXAMPLES: Final = ROOT / "examples"
_CLI: Final = "reference/cli"
_WIDTH: Final = 96
"""Columns of a help text."""
_EXAMPLE: Final = re.compile(r"^The example: \[examples/([\w-]+)\]\(\S+\)\.$", re.MULTILINE)
_DOCUMENT: Final = re.compile(r"^The document: \[([\w./-]+)\]\(\S+\)\.$", re.MULTILINE)
_COMMANDS: Final = "<!-- commands -->"
_NOT_RUN: Final = re.compile(r"^[ ]*<!-- not run: .+? -->\n", re.MULTILINE)
"""For the tests: why they do not run the block below."""
_LINK: Final = re.compile(r"\[([^\]]+)\]\(((?!https?:|#)[^)]+)\)")
_LANGUAGES: Final = {".yaml": "yaml", ".py": "python", "": "dockerfile"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation gets the page of each command below the overview of all."""
    pages = [{name: f"{_CLI}/{name}.md"} for name in COMMANDS]
    for title, items in (entry for section in config.nav or [] for entry in section.items()):
        if title == "Reference":
            place = next(i for i, item in enumerate(items) if f"{_CLI}.md" in item.values())
            items[place] = {"kubectl edl": [{"Overview": f"{_CLI}.md"}, *pages]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name in COMMANDS:
        files.append(File.generated(config, f"{_CLI}/{name}.md", content=_command(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:  # noqa: ANN401 - mkdocs' own
    """Every line and comment of ours becomes what it names."""
    up = "../" * page.file.src_uri.count("/")
    text = _EXAMPLE.sub(lambda found: _example(found[1]), _NOT_RUN.sub("", markdown))
    text = _DOCUMENT.sub(lambda found: _document(found[1], up), text)
    return text.replace(_COMMANDS, _commands())


def _commands() -> str:
    rows = (f"| [`{name}`](cli/{name}.md) | {line} |" for name, line in COMMANDS.items())
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def _command(name: str) -> str:
    """The page of one command: its help, and that of its subcommands, as `--help` prints it."""
    shown = "\n".join(f"```text\n{text}\n```\n" for text in _helps(CLI, name, "kubectl edl"))
    return (
        f"# kubectl edl {name}\n\n{COMMANDS[name]}\n\n{shown}\n[Exit codes](../cli.md#exit-codes)\n"
    )


def _helps(group: click.Group, name: str, before: str) -> Iterator[str]:
    command = group.get_command(click.Context(group), name)
    if command is None:
        return
    called = f"{before} {name}"
    context = click.Context(
        command, info_name=called, terminal_width=_WIDTH, max_content_width=_WIDTH
    )
    yield command.get_help(context).rstrip()
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            yield from _helps(command, each, called)


def _document(name: str, up: str) -> str:
    """A document without its title; links to pages lead there, others lose their link."""

    def link(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        if target.startswith("docs/"):
            return f"[{text}]({up}{target.removeprefix('docs/')})"
        return text

    return _LINK.sub(link, (ROOT / name).read_text().partition("\n")[2])


def _example(name: str) -> str:
    """An example's README without its title, then its files; links lead to them."""
    folder = EXAMPLES / name
    readme = folder / "README.md"
    said = readme.read_text().partition("\n")[2] if readme.exists() else ""
    files = sorted(path for path in folder.iterdir() if path != readme)
    shown = "\n".join(_file(path) for path in files)
    return f"{_LINK.sub(_local, said)}\n\n## The example's files\n\n{shown}"


def _file(path: Path) -> str:
    language = _LANGUAGES.get(path.suffix, "text")
    text = path.read_text().rstrip()
    return f"### {path.name} {{ #{_anchor(path.name)} }}\n\n````{language}\n{text}\n````\n"


def _local(found: re.Match[str]) -> str:
    """Another example's page, or the place on this page where the file stands."""
    text, target = found[1], found[2]
    if target.startswith("../"):
        _, example, file = target.split("/")
        anchor = "" if file == "README.md" else f"#{_anchor(file)}"
        return f"[{text}]({example}.md{anchor})"
    return f"[{text}](#{_anchor(target)})"


def _anchor(file: str) -> str:
    return "file-" + file.lower().replace(".", "-")
