"""`kubectl_complete-edl`, which kubectl runs to complete the arguments of `kubectl edl`.

Its arguments are the words after `edl`, the last one incomplete (maybe empty). The output follows
cobra's protocol: one candidate per line, with a description after a tab, and a final directive.
"""

import sys
from collections.abc import Sequence
from typing import Final

from click import UsageError
from click.shell_completion import CompletionItem, ShellComplete

from kubectl_edl.cli.context import CliContext
from kubectl_edl.cli.root import CLI
from kubectl_edl.main import this_process

_FILES: Final = 0
_NO_FILES: Final = 4
"""Values of cobra's ShellCompDirective: whether the shell completes names of files."""


def main() -> None:
    """The console script `kubectl_complete-edl`."""
    cli = this_process()
    cli.out.write(answer(sys.argv[1:], cli))


def answer(words: Sequence[str], cli: CliContext) -> str:
    """The candidates for the last word, and the directive, in cobra's format."""
    *before, unfinished = words or [""]
    shell = ShellComplete(CLI, {"obj": cli}, "kubectl edl", "")
    try:
        items = shell.get_completions(list(before), unfinished)
    except UsageError:  # an unknown command has no candidates
        items = []
    lines = [_line(item) for item in items if item.type == "plain"]
    files = any(item.type != "plain" for item in items)
    return "".join(f"{line}\n" for line in (*lines, f":{_FILES if files else _NO_FILES}"))


def _line(item: CompletionItem) -> str:
    first = (item.help or "").partition("\n")[0]
    return f"{item.value}\t{first}" if first else str(item.value)
