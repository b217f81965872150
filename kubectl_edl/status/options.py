"""The options `--for --timeout` of `kubectl edl status`; `phase_wait` waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from edl.kube.option_group import group, option, option_group
from kubectl_edl.cli.param_types import Duration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from click.shell_completion import CompletionItem

    from edl.model import Code, Phase

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 error, 2 usage error, 3 not found, "
    "5 --for: timed out, 6 --for: reached a different terminal phase, 130 interrupted."
)

_REASON: Final = "reason"


class _OneGoal(click.ParamType["Phase | Code"]):
    name = "PHASE|reason=CODE"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> Phase | Code:
        from edl.model import Code, Phase

        is_code, code = _code(value)
        name, known = (code, _codes()) if is_code else (value, [phase.value for phase in Phase])
        spelled = {one.casefold(): one for one in known}
        if found := spelled.get(name.casefold()):
            return Code(found) if is_code else Phase(found)
        what, every = (
            ("a reason code", "all of them: docs/reference/reason-codes.md")
            if is_code
            else ("a phase", f"one of {', '.join(known)}, or reason=CODE")
        )
        return self.fail(f"{name} is not {what}; {_meant(name, spelled)}{every}", param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        return self.name

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Phases, and reason codes once the word starts with `reason=`."""
        is_code, code = _code(incomplete)
        if not is_code:
            return _phases().shell_complete(ctx, param, incomplete)
        from click.shell_completion import CompletionItem

        fit = (one for one in _codes() if one.casefold().startswith(code.casefold()))
        return [CompletionItem(f"{_REASON}={one}") for one in fit]


def _code(value: str) -> tuple[bool, str]:
    """Whether the value is `reason=CODE`, in any case, and the code."""
    kind, equals, code = value.partition("=")
    return bool(equals) and kind.casefold() == _REASON, code


def _meant(name: str, spelled: Mapping[str, str]) -> str:
    """`did you mean Running? `; empty if no name is similar."""
    from difflib import get_close_matches

    close = get_close_matches(name.casefold(), spelled, n=1)
    return f"did you mean {spelled[close[0]]}? " if close else ""


def _codes() -> list[str]:
    from edl.model import Code

    return [code.value for code in Code]


def _phases() -> click.Choice[Phase]:
    from edl.model import Phase

    return click.Choice(list(Phase), case_sensitive=False)


@option_group
class AwaitedPhase:
    """Phases and reasons, one of which is awaited for at most `timeout`; empty to only watch."""

    goals: tuple[Phase | Code, ...] = option(
        "--for",
        type=_OneGoal(),
        help="Wait for a phase such as Running, or for reason=CODE; may be repeated.",
    )
    timeout: timedelta | None = option(type=Duration(), help="How long to wait, with --for or -w.")


waiting: Final = group(AwaitedPhase, "wanted")
"""`--for --timeout`, as `wanted`."""
