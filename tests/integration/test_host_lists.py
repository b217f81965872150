"""Host lists on a real cluster: a worker that is off the list while its pod stays never returns.

A watch sees each list and each worker. The cluster has four nodes with 8 CPU each.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from edl import contract
from edl.errors import ClusterError, Unreachable
from edl.kube.cluster import ListOptions
from tests.integration.support.stage import horovod, web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edl.kube.cluster import RawEvent, Watch
    from edl.writes import Json
    from tests.integration.support.rounds import Rounds
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration
SETTLED = timedelta(seconds=40)
"""By a clock that is ahead by this, the launcher and the workers listen since long ago."""
LATE = timedelta(seconds=10)


@dataclass
class Observer:
    """What a watch of one namespace's pods said, in its order."""

    workers: dict[str, str] = field(default_factory=dict)
    """The uid of the pod that has a host name, as long as it is there and not told to go."""
    lists: dict[str, set[str]] = field(default_factory=dict)
    """By launcher's pod."""
    left: set[str] = field(default_factory=set)
    returned: list[str] = field(default_factory=list)
    changes: int = 0
    version: str = ""
    broken: str = ""
    """Why the watch ended for good."""

    def differs(self, changes: int) -> bool:
        """Whether a list has changed again since it had changed that often."""
        assert not self.broken
        return self.changes > changes

    def hear(self, event: RawEvent) -> None:
        pod = json.loads(event.object)
        metadata = pod["metadata"]
        self.version = metadata["resourceVersion"]
        if event.type == "BOOKMARK":
            return
        notes = metadata.get("annotations", {})
        if contract.HOSTFILE in notes:
            self._list(metadata["name"], notes[contract.HOSTFILE])
        host = pod.get("spec", {}).get("hostname", "")
        gone = event.type == "DELETED" or "deletionTimestamp" in metadata
        if gone and self.workers.get(host) == metadata["uid"]:
            del self.workers[host]
        elif host and not gone:
            self.workers[host] = metadata["uid"]

    def _list(self, launcher: str, text: str) -> None:
        hosts = {line.partition(".")[0] for line in text.split()}
        before = self.lists.get(launcher, hosts)
        self.lists[launcher] = hosts
        self.changes += hosts != before
        self.left |= {self.workers[host] for host in before - hosts if host in self.workers}
        back = [host for host in hosts - before if self.workers.get(host) in self.left]
        self.returned += [f"{launcher}: {host}" for host in back]


@contextmanager
def observed(stage: Stage) -> Iterator[Observer]:
    selection = ListOptions("Pod", stage.namespace)
    observer = Observer(version=stage.api.list(selection).version)
    stopped = threading.Event()
    watches: list[Watch] = []

    def follow() -> None:
        try:
            while not stopped.is_set():  # an API server may end any watch; the next goes on there
                watches.append(stage.api.watch(selection, observer.version))
                with suppress(Unreachable):
                    for event in watches[-1]:
                        observer.hear(event)
        except ClusterError as error:
            observer.broken = str(error)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield observer
    finally:
        stopped.set()
        for watch in watches:
            watch.close()
        thread.join(5)


def cordon(stage: Stage, name: str, *, on: bool) -> None:
    stage.cluster.kubectl("cordon" if on else "uncordon", name)


def test_no_worker_returns_to_a_list_though_its_node_or_its_room_is_free_again(
    installed: Stage,
) -> None:
    installed.within = 120.0
    with observed(installed) as observer:
        installed.apply(*horovod("ring", "2..30"))
        installed.until(lambda: len(installed.hosts("ring-launcher")) >= 25, "it fills the cluster")
        installed.until(lambda: whole(installed), "all are listed")
        for _ in range(2):
            node = full_node(installed)
            listed = observer.changes
            cordon(installed, node, on=True)
            try:
                installed.until(lambda listed=listed: observer.differs(listed), "one is left out")  # type: ignore[misc]
            finally:
                cordon(installed, node, on=False)
            installed.until(lambda: whole(installed), "it is whole again")
        listed = observer.changes
        installed.apply(web(4, cpu="2"))
        installed.until(lambda: observer.differs(listed), "it makes room")
        installed.kubectl("delete", "deployment", "web")
        installed.until(lambda: whole(installed), "it is whole again")
        time.sleep(5)
    assert observer.returned == []
    assert failed(installed.job("ring-worker")) == 0, "a pod that moves is no failure"


def full_node(stage: Stage) -> str:
    """A node without room: the one free CPU, which a worker needs to leave it, is elsewhere."""
    pods = stage.pods("ring-launcher") + stage.pods("ring-worker")
    taken = Counter(str(pod["spec"]["nodeName"]) for pod in pods)
    return next(name for name, count in taken.items() if count == 8)


def whole(stage: Stage) -> bool:
    """All workers are there, and all of them are listed."""
    (launcher,) = stage.pods("ring-launcher")
    leaves = contract.LEAVING in launcher["metadata"]["annotations"]
    size = stage.size("ring-worker")
    return not leaves and len(stage.hosts("ring-launcher")) == stage.running("ring-worker") == size


def failed(job: Json) -> int:
    return int(job["status"].get("failed", 0))


def test_a_late_reminder_publishes_the_list_anew_before_a_worker_leaves(
    installed: Stage, rounds: Rounds
) -> None:
    """The reconciler was away between a publication and the reminder of the kubelet."""
    installed.apply(*horovod("ring", "2..3"))
    rounds.until(lambda: len(installed.hosts("ring-launcher")) == 3, "all are listed", SETTLED)
    installed.annotate("ring-worker", replicas="2")
    rounds.until(lambda: len(installed.hosts("ring-launcher")) == 2, "a list is shorter", SETTLED)
    first = publication(installed)
    assert first[contract.PUBLISHED_AT] != first.get(contract.CONFIRMED_AT)
    rounds.perform(SETTLED + LATE)
    again = publication(installed)
    assert again[contract.PUBLISHED_AT] == again[contract.CONFIRMED_AT]
    assert again[contract.PUBLISHED_AT] > first[contract.PUBLISHED_AT]
    assert installed.size("ring-worker") == 3, "the worker has time to leave"
    rounds.until_runs("ring-worker", 2, SETTLED + 2 * LATE)


def publication(stage: Stage) -> dict[str, str]:
    notes: dict[str, str] = stage.pod("ring-launcher", 0)["metadata"]["annotations"]
    return notes
