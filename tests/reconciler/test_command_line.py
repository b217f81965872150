import signal
import socket

import pytest
from click.testing import CliRunner

from reconciler.command_line import main, own_identity

BOUNDED = (
    *("patience", "idle", "growth-cooldown", "pending-limit", "restart-cooldown", "gang-limit"),
    *("nearly-done", "certificate-days", "authority-days", "certificate-refresh"),
)


def test_every_option_is_explained() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for option in ("--kubeconfig", "--policy [fair", "--no-leader-elect", "--metrics-port"):
        assert option in result.output


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
        (["--patience", "-1"], "0<=x<="),
        (["--nearly-done", "0"], "0<x<=100"),
        (["--load-ceiling", "97"], "0<x<=1"),
        (["--provisioning-class", "A b"], "a value such as best-effort-atomic-scale-up"),
        (["--metrics-port", "65536"], "0<=x<=65535"),
        (["--lease-duration", "1000000"], "x<=3600"),
        *((["--" + each, "inf"], "x<=") for each in BOUNDED),
    ],
)
def test_what_cannot_work_is_said_in_one_line(arguments: list[str], problem: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code != 0
    assert problem in result.output
    assert "Traceback" not in result.output
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []), "a child would be deaf to SIGTERM"


def test_two_processes_of_one_host_have_different_identities() -> None:
    names = {own_identity(), own_identity()}
    assert len(names) == 2
    assert all(name.startswith(f"{socket.gethostname()}_") for name in names)
