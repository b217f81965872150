"""The options `--for --timeout` of `kubectl edl status`; `phase_wait` waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from edl.kube.option_group import group, option, option_group
from edl.similar_names import did_you_mean
from kubectl_edl.cli.command_errors import Exit, exit_codes
from kubectl_edl.cli.param_types import Duration

if TYPE_CHECKING:
    from datetime import timedelta

    from click.shell_completion import CompletionItem

    from edl.model import Code, Phase

EXIT_CODES: Final = exit_codes(
    {
        Exit.NOT_FOUND: "not found",
        Exit.TIMED_OUT: "--for: timed out",
        Exit.ENDED_OTHERWISE: "--for: reached a different terminal phase",
    }
)

_REASON: Final = "reason"


class _OneGoal(click.ParamType["Phase | Code"]):
    name = "PHASE|reason=CODE"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> Phase | Code:
        from edl.model import Code, Phase

        is_code, name = _code(value)
        spelled = {text.casefold(): text for text in _names(is_code=is_code)}
        if match := spelled.get(name.casefold()):
            return Code(match) if is_code else Phase(match)
        what, every = "a phase", f"one of {', '.join(spelled.values())}, or reason=CODE"
        if is_code:
            what, every = "a reason code", "all of them: docs/reference/reason-codes.md"
        meant = did_you_mean(name, spelled.values())
        return self.fail(f"{name} is not {what}; {meant and f'{meant} '}{every}", param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 (click's signature)
        param: click.Parameter,  # noqa: ARG002 (the same)
        incomplete: str,
    ) -> list[CompletionItem]:
        """Phases, and reason codes once the word starts with `reason=`."""
        from click.shell_completion import CompletionItem

        is_code, name = _code(incomplete)
        fit = [one for one in _names(is_code=is_code) if one.casefold().startswith(name.casefold())]
        # Phases are offered in lower case, as by click.Choice.
        texts = (f"{_REASON}={text}" if is_code else text.casefold() for text in fit)
        return [CompletionItem(text) for text in texts]


def _code(value: str) -> tuple[bool, str]:
    """Whether the value is `reason=CODE`, in any case, and the code; else the value itself."""
    kind, equals, code = value.partition("=")
    is_code = bool(equals) and kind.casefold() == _REASON
    return is_code, code if is_code else value


def _names(*, is_code: bool) -> list[str]:
    from edl.model import Code, Phase

    return [member.value for member in (Code if is_code else Phase)]


@option_group
class AwaitedPhase:
    """Phases and reasons, one of which is awaited for at most `timeout`; empty to only watch."""

    goals: tuple[Phase | Code, ...] = option(
        "--for",
        type=_OneGoal(),
        metavar=_OneGoal.name,
        help="Wait for a phase such as Running, or for reason=CODE; may be repeated.",
    )
    timeout: timedelta | None = option(type=Duration(), help="How long to wait, with --for or -w.")


wait_options: Final = group(AwaitedPhase, "wanted")
"""`--for --timeout`, as `wanted`."""
