"""Workers whose process 1 is sshd, which ends with 0 when it is told to leave."""

import pytest

from edl.convert.source_kind import Converted
from edl.frameworks.scripts import WAIT_FOR_COMMANDS, WAIT_FOR_SSH
from edl.writes import Json
from tests.edl.convert.documents import admitted, by_role, jobs, paths, replica
from tests.edl.convert.sources.test_et_operator import training_job
from tests.edl.convert.sources.test_mpijob import mpijob

SSHD = "/usr/sbin/sshd"
PLAIN = [
    {"command": [SSHD, "-De"]},
    {"command": [SSHD], "args": ["-De"]},
    {"args": [SSHD, "-D", "-e"]},
    {"command": ["sshd", "-D"]},
    {"command": ["/bin/sh", "-c", f"{SSHD} -De"]},
    {"command": ["bash", "-c"], "args": [f"exec {SSHD} -D"]},
]
OWN = [
    {"command": [SSHD, "-De", "-f", "/home/mpiuser/.sshd_config"]},
    {"command": [SSHD], "args": ["-De", "-p", "2222"]},
    {"args": [SSHD, "-De", "-o", "StrictModes=no"]},
    {"command": ["/opt/ssh/sbin/sshd", "-D"]},
]
OTHERS = [
    {"command": ["/bin/sh", "-c", f"{SSHD} && sleep 365d"]},
    {"command": ["/bin/sh", "-c", f"{SSHD} -De; exit 1"]},
    {"command": ["/bin/sh", "-c", "echo 'sshd"]},
    {"command": ["sleep", "infinity"]},
    {"args": ["-De"]},
    {"command": ["/bin/sh", "-c", ""]},
]


def workers(container: Json) -> Json:
    found = replica("main", 2)
    found["template"]["spec"]["containers"][0] |= container
    return found


def converted(version: str, container: Json) -> Converted:
    return jobs(mpijob(version, workers(container)))


def process(job: Json) -> list[str]:
    """What runs in the worker when the webhook has completed it."""
    first = admitted(job)["spec"]["template"]["spec"]["containers"][0]
    return [*first.get("command", ()), *first.get("args", ())]


@pytest.mark.parametrize("container", PLAIN)
def test_plain_sshd_gives_way_to_our_own_command_that_starts_it(container: Json) -> None:
    found = converted("v2beta1", container)
    assert process(by_role(found)["worker"]) == ["/bin/sh", "-c", WAIT_FOR_SSH]
    assert found.dropped == ()
    (note,) = found.notes
    assert str(note).startswith("spec.mpiReplicaSpecs.Worker.template: sshd as process 1 ends")
    assert note.instead == "kubectl-edl's own command starts it now"


@pytest.mark.parametrize("container", PLAIN)
def test_where_the_launcher_comes_by_exec_no_sshd_is_left_and_that_is_said(container: Json) -> None:
    found = converted("v1", container)
    assert process(by_role(found)["worker"]) == ["/bin/sh", "-c", WAIT_FOR_COMMANDS]
    assert paths(found) == ["spec.mpiReplicaSpecs.Worker.template"]
    assert found.dropped[0].instead.endswith("needs edl.dev/mode: ssh on both Jobs")


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
@pytest.mark.parametrize("container", OWN)
def test_sshd_with_a_config_of_its_own_stays_and_what_happens_is_said(
    container: Json, version: str
) -> None:
    found = converted(version, container)
    words = [*container.get("command", ()), *container.get("args", ())]
    assert process(by_role(found)["worker"]) == words
    assert found.dropped == ()
    note = found.notes[-1]
    assert "its worker is done, and never again" in note.what
    script = f"trap 'exit 143' TERM; {' '.join(words)} & wait; exit 1"
    assert note.instead == f"let sh -c run: {script}"


@pytest.mark.parametrize("container", OTHERS)
def test_other_commands_stay_and_there_is_nothing_to_say(container: Json) -> None:
    found = converted("v2beta1", container)
    words = [*container.get("command", ()), *container.get("args", ())]
    assert process(by_role(found)["worker"]) == words
    assert (found.dropped, found.notes) == ((), ())


def test_a_launcher_may_run_what_it_likes() -> None:
    document = mpijob("v2beta1")
    document["spec"]["mpiReplicaSpecs"]["Launcher"] = workers(PLAIN[0]) | {"replicas": 1}
    found = jobs(document)
    assert process(by_role(found)["launcher"]) == [SSHD, "-De"]
    assert found.notes == ()


@pytest.mark.parametrize(
    ("mode", "script"), [("ssh", WAIT_FOR_SSH), ("kubexec", WAIT_FOR_COMMANDS)]
)
def test_et_operators_workers_likewise(mode: str, script: str) -> None:
    found = jobs(training_job(workers(PLAIN[0]), launcherAttachMode=mode))
    assert process(by_role(found)["worker"]) == ["/bin/sh", "-c", script]
