"""Confirmation prompts."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kubectl_edl.cli.interaction import confirmed, time_limit
from tests.kubectl_edl.stage import NOW, Stage


def test_a_prompt_writes_no_control_characters() -> None:
    cli = Stage(answers="y\n").cli()
    assert confirmed(cli, "Delete \x1b[2Jmnist?")
    assert cli.err.getvalue() == "Delete ^[[2Jmnist? [y/N] "  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("passed", "worked", "over"), [(14, 4, False), (16, 4, True), (6, 6, True), (4, 4, False)]
)
def test_an_estimate_on_a_busy_machine_may_take_longer(
    passed: float, worked: float, *, over: bool
) -> None:
    cli = Stage().cli()
    moments = iter((NOW, NOW + timedelta(seconds=passed)))
    work = iter((0.0, worked))
    is_over = time_limit(replace(cli, now=lambda: next(moments)), lambda: next(work))
    assert is_over() is over
