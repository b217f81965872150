"""Other owners' pods that a training job avoids, counted as pods and Jobs come and go."""

import copy
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from edl.contract import pod_limits
from edl.kube.cache.store import Store
from edl.kube.cluster import Delta
from edl.kube.decode import object_facts
from edl.kube.decode.object_facts import PodFacts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.incremental_state import IncrementalState
from edl.planner.decision_limits import Limits
from edl.planner.policies import FAIR
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.whole_state import whole_state
from tests.edl.kube.world import AVOIDING, LEAVING, REQUIRED, World, apart_from, job

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def test_pods_that_a_job_avoids_count_while_their_own_job_is_not_a_training_job() -> None:
    world = World()
    incremental = IncrementalState(world.stores)

    def counted() -> list[tuple[str, int, int]]:
        state = incremental.state(NOW)
        assert state == whole_state(world.stores, NOW)
        return [(one.node, one.pods, one.terminating) for one in state.foreign_pods]

    def tell(name: str, owner: str, **fields: Any) -> None:  # noqa: ANN401
        meta = {"labels": {"app": "web"}} | fields
        fields = {"node": "n1", "phase": "Running", "metadata": meta}
        world.tell("Pod", world.write("Pod", manifests.job_pod(name, 0, owner, **fields)))

    tell("w-0", "alone")
    assert counted() == []
    world.tell("Job", world.write("Job", job("mnist-worker", "mnist", pod=AVOIDING)))
    assert counted() == [("n1", 1, 0)]
    tell("w-1", "stranger")
    tell("w-1", "stranger", **LEAVING)
    assert counted() == [("n1", 2, 1)]
    world.tell("Job", world.write("Job", job("alone")))
    assert counted() == [("n1", 1, 1)]
    tell("w-2", "alone")
    world.delete("Pod", "w-1")
    assert counted() == []
    world.delete("Job", "alone")
    assert counted() == [("n1", 2, 0)]
    world.delete("Job", "mnist-worker")
    assert counted() == []


def test_a_second_jobs_selector_counts_pods_and_labels_jobs_that_the_first_does_not() -> None:
    world = World()
    incremental = IncrementalState(world.stores)

    def tell(name: str, avoids: str) -> None:
        spec = {"affinity": {"podAntiAffinity": {REQUIRED: [apart_from(avoids)]}}}
        world.tell("Job", world.write("Job", job(name, pod=spec)))

    for name in ("alone", "web"):
        meta = {"labels": {"app": name}}
        pod = manifests.pod(name, node=f"on-{name}", phase="Running", metadata=meta)
        world.tell("Pod", world.write("Pod", pod))
    world.tell("Job", world.write("Job", job("alone")))
    for name, avoids, nodes in (("a", "web", ["on-web"]), ("b", "alone", ["on-alone", "on-web"])):
        tell(name, avoids)
        state = incremental.state(NOW)
        assert [one.node for one in state.foreign_pods] == nodes
        labelled = state.jobs[1].roles[0].template.shape.constraints
        assert (labelled is not None) == (avoids == "alone")
        assert state == whole_state(world.stores, NOW)


def test_a_pending_pod_without_rules_obeys_the_anti_affinity_of_the_pods_on_a_node() -> None:
    world = World()
    incremental = IncrementalState(world.stores)

    def usable() -> list[set[str]]:
        """By demand, the nodes on which one pod fits."""
        state = incremental.state(NOW)
        assert state == whole_state(world.stores, NOW)
        snapshot = take_snapshot(state, FAIR, Limits())
        names, found = snapshot.capacity.node_names, []
        for demand in state.demands:
            view = snapshot.pod_class(demand.shape).idle
            found.append({name for at, name in enumerate(names) if view.admits(at)})
        return found

    def tell(name: str, app: str, **fields: Any) -> None:  # noqa: ANN401
        pod = manifests.pod(name, metadata={"labels": {"app": app}}, **fields)
        world.tell("Pod", world.write("Pod", pod))

    for name in ("n1", "n2"):
        node = manifests.node(name)
        node["metadata"]["labels"]["zone"] = name
        world.tell("Node", world.write("Node", node))
    tell("waits", "web")
    tell("also", "batch")
    assert usable() == [{"n1", "n2"}]
    tell("apart", "db", node="n1", phase="Running", spec=AVOIDING)
    assert usable() == [{"n1", "n2"}, {"n2"}]
    tell("late", "web")
    assert usable() == [{"n1", "n2"}, {"n2"}]
    world.delete("Pod", "waits")
    world.delete("Pod", "late")
    assert usable() == [{"n1", "n2"}]
    tell("waits", "web")
    world.delete("Pod", "apart")
    assert usable() == [{"n1", "n2"}]


def test_a_pod_that_comes_while_a_state_is_made_counts_once() -> None:
    world = World()

    def pod(name: str) -> bytes:
        meta = {"labels": {"app": "web"}}
        return world.write("Pod", manifests.pod(name, node="n1", phase="Running", metadata=meta))

    class Busy(Store[PodFacts]):
        """A store into which a pod comes right after the first read."""

        def take_changes(self, *, whole: bool = False) -> list[Delta[PodFacts]]:
            found = super().take_changes(whole=whole)
            if len(self) == 1:
                self.update(self.item(pod("second")))
            return found

    pods = Busy(partial(object_facts.pod, shapes=ShapeInterner()))
    stores = copy.copy(world.stores)
    stores.pods = pods
    pods.update(pods.item(pod("first")))
    world.tell("Job", world.write("Job", job("alone", pod=AVOIDING)))
    incremental = IncrementalState(stores)
    assert [one.pods for one in incremental.state(NOW).foreign_pods] == [1]
    assert [one.pods for one in incremental.state(NOW).foreign_pods] == [2]
    assert incremental.state(NOW) == whole_state(stores, NOW)


def test_pods_that_a_job_avoids_count_beside_running_pods_with_many_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last of their selectors is left out until a job has it, too."""
    monkeypatch.setattr(pod_limits, "MAX_COMPARED_SELECTORS", 3)
    world = World()
    incremental = IncrementalState(world.stores)

    def tell(kind: str, body: Json) -> None:
        world.tell(kind, world.write(kind, body))

    def foreign() -> set[str]:
        state = incremental.state(NOW)
        assert state == whole_state(world.stores, NOW)
        return {one.node for one in state.foreign_pods}

    first, *_ = crowd = [apart_from("web") for _ in range(9)]
    for number, term in enumerate(crowd):
        term["labelSelector"] = {"matchLabels": {"app": "web", "z": f"{number}"}}
    spec = {"affinity": {"podAntiAffinity": {REQUIRED: [*crowd, apart_from("web")]}}}
    tell("Pod", manifests.pod("crowd", node="n2", phase="Running", spec=spec))
    meta = {"labels": {"app": "web"}}
    tell("Pod", manifests.pod("web", node="n1", phase="Running", metadata=meta))
    tell("Job", job("other", pod={"affinity": {"podAntiAffinity": {REQUIRED: [first]}}}))
    assert foreign() == {"n2"}
    tell("Job", job("mnist-worker", pod=AVOIDING))
    assert foreign() == {"n1", "n2"}
    world.delete("Job", "mnist-worker")
    assert foreign() == {"n2"}
