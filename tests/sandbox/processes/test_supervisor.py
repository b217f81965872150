"""Supervision of plain programs: no control plane is needed to lose a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import ComponentDied, SandboxError
from sandbox.layout import free_ports
from sandbox.processes import ownership, readiness, startup
from sandbox.processes.supervisor import Launch, Supervisor
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLEEP = ("sleep", "1000")


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    made = Supervisor(tmp_path / "box", os.environ)
    yield made
    made.end_everything(abruptly=made.running())


def shell(name: str, line: str) -> Launch:
    return Launch(name, ("sh", "-c", line))


def test_a_restarted_program_listens_before_the_sandbox_is_ready(supervisor: Supervisor) -> None:
    (port,) = free_ports(1)
    listen = (
        f"import socket; s = socket.create_server(('127.0.0.1', {port})); s.accept(); s.accept()"
    )
    late = ("sh", "-c", f'sleep 0.5; exec {sys.executable} -c "{listen}"')
    supervisor.launch(Launch("late", late, port=port))
    supervisor.launch(Launch("silent", SLEEP))
    supervisor.kill("late")
    supervisor.kill("silent")
    assert sorted(startup.restart_programs(supervisor)) == ["late", "silent"]
    assert readiness.port_gap("late", port) == ""


def test_what_is_launched_runs_and_is_known_to_others(supervisor: Supervisor) -> None:
    pid = supervisor.launch(Launch("guest", SLEEP))
    assert supervisor.running() == {"guest": pid}
    assert Supervisor(supervisor.folder, {}).running() == {"guest": pid}


def test_launching_twice_starts_once(supervisor: Supervisor) -> None:
    assert supervisor.launch(Launch("guest", SLEEP)) == supervisor.launch(Launch("guest", SLEEP))


def test_two_folders_do_not_see_each_other(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.launch(Launch("guest", SLEEP))
    other = Supervisor(tmp_path / "box-2", os.environ)
    assert other.running() == {}
    assert not other.end_everything()
    assert "guest" in supervisor.running()


def test_a_death_is_reported_with_the_end_of_the_log(supervisor: Supervisor) -> None:
    supervisor.launch(shell("guest", "seq 100; echo out of luck >&2; exit 3"))
    until(lambda: not supervisor.running())
    with pytest.raises(ComponentDied) as caught:
        supervisor.check()
    head, *log = str(caught.value).splitlines()
    assert head == f"guest died; the last lines of {supervisor.log('guest')}:"
    assert log == [*(str(number) for number in range(90, 101)), "out of luck"]


def test_what_is_stopped_is_not_missed_and_starts_again(supervisor: Supervisor) -> None:
    first = supervisor.launch(Launch("guest", SLEEP, {"A": "b"}))
    supervisor.stop("guest")
    assert supervisor.running() == {}
    supervisor.check()
    second = Supervisor(supervisor.folder, os.environ).start("guest")
    assert second != first
    assert b"A=b\0" in (ownership.PROC / str(second) / "environ").read_bytes()


def test_stopping_what_is_outlived_leaves_its_children_to_run(supervisor: Supervisor) -> None:
    line = "sleep 1000 & echo started; exec sleep 1000"
    supervisor.launch(Launch("guest", ("sh", "-c", line), outlived=True))
    until(lambda: supervisor.log("guest").read_text() == "started\n")
    supervisor.stop("guest")
    assert supervisor.running() == {}
    assert [each.component for each in ownership.of_sandbox(supervisor.folder)] == ["guest"]
    supervisor.start("guest")
    assert supervisor.launches()["guest"].outlived
    supervisor.end_everything()
    assert ownership.of_sandbox(supervisor.folder) == []


def test_stopping_ends_the_children_too(supervisor: Supervisor) -> None:
    supervisor.launch(shell("guest", "sleep 1000 & wait"))
    # A child shows no environment while it is in exec.
    until(lambda: len(ownership.of_sandbox(supervisor.folder)) == 2)
    supervisor.stop("guest")
    assert ownership.of_sandbox(supervisor.folder) == []


def test_a_guest_may_end_by_itself(supervisor: Supervisor) -> None:
    line = "trap 'echo tidy; exit' TERM; echo ready; while :; do sleep 0.01; done"
    supervisor.launch(shell("guest", line))
    until(lambda: "ready" in supervisor.log("guest").read_text())
    assert supervisor.end_everything()
    assert supervisor.log("guest").read_text() == "ready\ntidy\n"


def test_a_signal_leaves_it_expected_to_run(supervisor: Supervisor) -> None:
    supervisor.launch(Launch("guest", SLEEP))
    supervisor.kill("guest", signal.SIGSTOP)
    supervisor.check()
    supervisor.kill("guest")
    assert supervisor.dead() == ("guest",)


def test_unknown_names_are_said_with_the_known(supervisor: Supervisor) -> None:
    supervisor.launch(Launch("guest", SLEEP))
    with pytest.raises(SandboxError, match="geust was never launched: known here are guest"):
        supervisor.start("geust")
    with pytest.raises(SandboxError, match="geust does not run: known here are guest"):
        supervisor.kill("geust")


def test_a_program_that_does_not_exist_is_said(supervisor: Supervisor) -> None:
    with pytest.raises(SandboxError, match="cannot start guest: /no/such: No such file"):
        supervisor.launch(Launch("guest", ("/no/such",)))


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"name": "guest"}', '{"name": 1, "argv": 2}'])
def test_a_damaged_record_counts_as_none(supervisor: Supervisor, damage: str) -> None:
    pid = supervisor.launch(Launch("guest", SLEEP))
    (supervisor.folder / "launches" / "guest.json").write_text(damage)
    assert supervisor.launches() == {}
    assert supervisor.running() == {"guest": pid}
    assert supervisor.end_everything()


def test_a_process_outlives_its_killed_starter_and_is_found(supervisor: Supervisor) -> None:
    script = (
        "import os, sys, time; from pathlib import Path\n"
        "from sandbox.processes.supervisor import Launch, Supervisor\n"
        f"Supervisor(Path({str(supervisor.folder)!r}), os.environ).launch("
        "Launch('guest', ('sleep', '1000')))\ntime.sleep(1000)"
    )
    starter = subprocess.Popen([sys.executable, "-c", script])
    until(supervisor.running)
    starter.kill()
    starter.wait()
    supervisor.check()
    assert supervisor.end_everything()
    assert supervisor.running() == {}


def test_a_pid_of_another_process_by_now_is_left_alone(supervisor: Supervisor) -> None:
    pid = supervisor.launch(Launch("guest", SLEEP))
    ours = ownership.read(pid)
    assert ours is not None
    stranger = subprocess.Popen(SLEEP)
    try:
        later = ownership.Process(
            stranger.pid, ours.started, ours.folder, ours.component, leads=True
        )
        ownership.send(later, signal.SIGKILL)
        assert stranger.poll() is None
        assert ownership.read(stranger.pid) is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_zombie_counts_as_dead(supervisor: Supervisor) -> None:
    marks = {ownership.FOLDER: str(supervisor.folder), ownership.COMPONENT: "guest"}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={**os.environ, **marks}) as child:
        until(lambda: ownership.read(child.pid) is not None)
        alive = ownership.read(child.pid)
        assert alive is not None
        assert ownership.runs(alive)
        assert not ownership.runs(replace(alive, started=alive.started - 1)), "of an earlier one"
        assert child.stdin is not None
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert ownership.read(child.pid) is None
        assert not ownership.runs(alive)
