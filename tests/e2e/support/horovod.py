"""The example of elastic Horovod: its steps, its workers, and the launcher's lists."""

import time
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tests.e2e.support import ledger
from tests.e2e.support.ledger import Step
from tests.e2e.support.training import Training

LAUNCHER, WORKER = "hvd-digits-launcher", "hvd-digits-worker"
DATA = "horovod-data"
STEPS_A_COMMIT = 5
TRAINER = "^python3 /app/train.py"
"""The command line of a worker's process, not of the shells around it."""
PROCESSES = """
for p in /proc/[0-9]*; do
    tr '\\0' ' ' < $p/cmdline | grep -q "$1" && cut -d ' ' -f 1,22 $p/stat
done 2>/dev/null
true
"""


def steps_of(training: Training, data: str = DATA) -> list[Step]:
    return ledger.read(training.files(data, "ledger/*"))


def until_trained(training: Training, world: int, count: int = 20, data: str = DATA) -> None:
    """Until so many further steps are made, the last of them by so many workers."""
    begin = time.time()

    def trained() -> bool:
        new = [step for step in steps_of(training, data) if step.time > begin]
        return len(new) >= count and new[-1].world == world

    training.until(trained, f"{count} more steps, the last by {world} workers")


def until_complete(training: Training, *jobs: str) -> None:
    jobs = jobs or (LAUNCHER, WORKER)
    training.until(lambda: all(map(training.is_complete, jobs)), "both Jobs are complete")


def trainers(training: Training, index: int) -> set[str]:
    """The processes of a worker that train."""
    return processes(training, index, TRAINER)


def processes(training: Training, index: int, pattern: str) -> set[str]:
    """Id and start of each process of a worker whose command line is like `pattern`."""
    command = ("sh", "-c", PROCESSES, "sh", pattern)
    return set(training.exec(training.pod_name(WORKER, index), *command).splitlines())


def hosts(indexes: Iterable[int], namespace: str) -> list[str]:
    return [f"{WORKER}-{index}.hvd-digits.{namespace}.svc:1" for index in indexes]


def until_listed(training: Training, count: int) -> None:
    """Until the launcher's files name so many hosts, and its script says the same."""
    launcher, wanted = training.pod_name(LAUNCHER), hosts(range(count), training.namespace)

    def listed() -> bool:
        return training.exec(launcher, "cat", "/etc/edl/hostfile").split() == wanted

    training.until(listed, f"the launcher's hostfile names {count} hosts")
    assert training.exec(launcher, "/etc/edl/discover_hosts.sh").split() == wanted
    mpi = training.exec(launcher, "cat", "/etc/mpi/hostfile").splitlines()
    assert mpi == [host.replace(":1", " slots=1") for host in wanted]


def check_setbacks(steps: Sequence[Step]) -> None:
    """No committed step is made twice: who goes back goes back to the last commit."""
    for before, after in pairwise(steps):
        if after.step != before.step + 1:
            assert (after.step - 1) % STEPS_A_COMMIT == 0
            assert 0 <= before.step - (after.step - 1) <= STEPS_A_COMMIT


def lasting(training: Training) -> tuple[str, str]:
    """The pods that no resize may touch."""
    return training.uids(LAUNCHER)["0"], training.uids(WORKER)["0"]
