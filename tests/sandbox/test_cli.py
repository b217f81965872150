from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from sandbox.builds.progress import Progress, elapsed
from sandbox.cli import main
from sandbox.layout import Facts, Layout, read_facts, write_facts
from sandbox.paths import CHECKOUT
from sandbox.processes import startup
from sandbox.processes.supervisor import Launch, Supervisor

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(state: Path, *args: str) -> Result:
    return CliRunner().invoke(main, args, env={"EDL_STATE": str(state), "EDL_BINARIES": None})


@pytest.mark.parametrize("command", [[], ["up"], ["down"], ["status"], ["build"], ["logs"]])
def test_every_command_has_help(tmp_path: Path, command: list[str]) -> None:
    asked = run(tmp_path, *command, "--help")
    assert asked.exit_code == 0
    assert "Usage: " in asked.output


def test_bad_quantities_are_refused_before_anything_starts(tmp_path: Path) -> None:
    asked = run(tmp_path, "up", "--cpu", "eight")
    assert asked.exit_code == 2
    assert "cpu: 'eight' is not a quantity above 0: write it like 8 or 500m" in asked.output
    assert list(tmp_path.iterdir()) == []


def test_a_bad_node_pool_is_refused_before_anything_starts(tmp_path: Path) -> None:
    asked = run(tmp_path, "up", "--karpenter", "--node-pool", "sizes=7")
    assert asked.exit_code == 2
    assert "sizes: 7: choose of 1, 2, 4, 8" in asked.output
    assert list(tmp_path.iterdir()) == []


def test_errors_are_one_line_without_a_traceback(tmp_path: Path) -> None:
    asked = run(tmp_path, "kubectl", "--name", "demo", "get", "pods")
    assert asked.exit_code == 1
    assert asked.output == ("error: sandbox demo is not up: run python -m sandbox up --name demo\n")


def test_nothing_is_up(tmp_path: Path) -> None:
    assert run(tmp_path, "status").output == "no sandbox is up\n"
    assert run(tmp_path, "down", "--all").output == "no sandbox is up\n"
    assert run(tmp_path, "down").output == "sandbox default was not up\n"


def test_status_shows_the_living_and_the_last_words_of_the_dead(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path / "sandboxes" / "demo", os.environ)
    pid = supervisor.launch(Launch("living", ("sleep", "1000")))
    supervisor.launch(Launch("dead", ("sh", "-c", "echo farewell")))
    while "dead" in supervisor.running():
        pass
    asked = run(tmp_path, "status")
    assert asked.exit_code == 1
    assert f"  living                      {pid}\n" in asked.output
    assert asked.output.endswith("dead.log:\nfarewell\n")
    assert run(tmp_path, "down", "--all").output == "ending demo\nsandbox demo is down\n"
    assert run(tmp_path, "status").output == "no sandbox is up\n"


def test_down_ends_only_what_its_checkout_started(tmp_path: Path) -> None:
    for name, checkout in (("mine", str(CHECKOUT)), ("theirs", "/home/ann/edl"), ("old", None)):
        write_facts(tmp_path / "sandboxes" / name / "sandbox.json", Facts(1, 2, checkout=checkout))
    assert run(tmp_path, "down", "--checkout").output == (
        "sandbox old stays: its origin is unknown; --all ends it, too\n"
        "sandbox theirs stays: started from /home/ann/edl; --all ends it, too\n"
        "ending mine\n"
        "sandbox mine is down\n"
    )
    assert run(tmp_path, "down", "--all").output == (
        "ending old, theirs\nsandbox old is down\nsandbox theirs is down\n"
    )


def test_a_new_sandbox_records_its_checkout(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "demo")
    made = startup.make(layout, Supervisor(layout.folder, os.environ), None, real=False)
    assert made.checkout == str(CHECKOUT)
    assert read_facts(layout.facts) == made


def test_status_of_one_sandbox(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_facts(tmp_path / "sandboxes" / name / "sandbox.json", Facts(1, 2))
    shown = run(tmp_path, "status", "--name", "two").output
    assert shown.startswith("sandbox two: 0 processes")
    assert "sandbox one" not in shown


def test_a_component_without_a_log_is_said_with_those_that_have_one(tmp_path: Path) -> None:
    logs = tmp_path / "sandboxes" / "demo" / "logs"
    logs.mkdir(parents=True)
    (logs / "etcd.log").touch()
    asked = run(tmp_path, "logs", "--name", "demo", "ectd")
    assert asked.output == "error: ectd has no log in sandbox demo; there are: etcd\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_line_every_20_seconds_in_a_pipe() -> None:
    stream, times = io.StringIO(), iter([0.0, 1.0, 20.0, 39.0, 41.0, 65.0])
    progress = Progress("building", stream, lambda: next(times))
    for step in ("a", "b", "c", "d"):
        progress.show(step)
    progress.end("done")
    assert stream.getvalue() == (
        "building: 20 s, b\nbuilding: 41 s, d\nbuilding: done after 1 min 05 s\n"
    )


def test_progress_is_live_on_a_terminal() -> None:
    stream = Terminal()
    progress = Progress("building", stream, lambda: 0.0)
    progress.show("a")
    progress.end("done")
    assert stream.getvalue() == ("\r\x1b[Kbuilding: 0 s, a\r\x1b[Kbuilding: done after 0 s\n")


def test_elapsed_time_is_said_in_minutes_and_seconds() -> None:
    assert [elapsed(s) for s in (0.4, 59.4, 59.6, 3725)] == [
        "0 s",
        "59 s",
        "1 min 00 s",
        "62 min 05 s",
    ]
