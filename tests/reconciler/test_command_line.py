import re
import signal
import socket

import click
import pytest
from click.testing import CliRunner

from reconciler.command_line import holder_identity, main
from webhook.__main__ import webhook

NUMBERS = ("nearly-done", "certificate-days", "authority-days")
DURATIONS = (
    *("patience", "idle", "growth-cooldown", "pending-limit", "restart-cooldown", "gang-limit"),
    *("certificate-refresh", "lease-duration", "renew-deadline", "retry-period"),
)


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_option_is_explained(flag: str) -> None:
    result = CliRunner().invoke(main, [flag])
    assert result.exit_code == 0
    for option in ("--kubeconfig", "--policy [fair", "--no-leader-elect", "--metrics-port"):
        assert option in result.output


@pytest.mark.parametrize("command", [main, webhook])
def test_help_shows_durations_with_their_units_and_no_empty_default(command: click.Command) -> None:
    context = click.Context(command, **command.context_settings)
    lines = [one.get_help_record(context) for one in command.params]
    durations = [text for name, text in filter(None, lines) if name.endswith(" DURATION")]
    shown = [found[1] for text in durations if (found := re.search(r"\[(.*)]$", text))]
    assert len(shown) >= 2
    assert [one for one in shown if not re.fullmatch(r"default: [0-9.]+[smhd]", one)] == []
    assert [text for text in durations if "econds" in text.replace("whole seconds", "")] == []
    assert [text for _, text in filter(None, lines) if '""' in text] == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--kubeconfig", "/nowhere"], "there is no file /nowhere"),
        (["--policy", "greedy"], "fair"),
        (["--log-level", "loud"], "warning"),
        (
            ["--priority-weight", "high=2"],
            '"high=2"; a PriorityClass\'s value and a number above 0',
        ),
        (["--priority-weight", "5=0"], "such as 1000=2"),
        (["--priority-weight", "5=1000001"], "at most 1000000"),
        (["--priority-weight", "5=1.2.3"], "such as 1000=2"),
        (["--patience", "-1"], "'-1' is not 0 or a duration"),
        (["--patience", "3651d"], "'3651d' is not 0 or a duration from 0.001s to 3650d: "),
        (["--certificate-refresh", "0"], "'0' is not a duration from 0.001s to 1d: "),
        (["--nearly-done", "0"], "0<x<=100"),
        (["--load-ceiling", "97"], "0<x<=1"),
        (["--provisioning-class", "A b"], "a value such as best-effort-atomic-scale-up"),
        (["--metrics-port", "65536"], "0<=x<=65535"),
        (["--lease-duration", "1000000"], "from 0.001s to 1h: write 60s"),
        *((["--" + each, "inf"], "x<=") for each in NUMBERS),
        *((["--" + each, "inf"], "a duration from 0.001s to ") for each in DURATIONS),
    ],
)
def test_what_cannot_work_is_said_in_one_line(arguments: list[str], problem: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code != 0
    assert problem in result.output
    assert "Traceback" not in result.output
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []), "a child would be deaf to SIGTERM"


@pytest.mark.parametrize("name", [None, "", "chosen"])
def test_two_processes_never_hold_the_lease_by_one_name(name: str | None) -> None:
    names = {holder_identity(name), holder_identity(name)}
    assert len(names) == 2
    assert all(each.startswith(f"{name or socket.gethostname()}_") for each in names)
