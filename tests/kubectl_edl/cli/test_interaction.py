"""Confirmation prompts."""

from kubectl_edl.cli.interaction import confirmed
from tests.kubectl_edl.stage import Stage


def test_a_prompt_writes_no_control_characters() -> None:
    cli = Stage(answers="y\n").cli()
    assert confirmed(cli, "Delete \x1b[2Jmnist?")
    assert cli.err.getvalue() == "Delete ^[[2Jmnist? [y/N] "  # type: ignore[attr-defined]
