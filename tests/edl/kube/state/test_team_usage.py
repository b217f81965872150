"""What pods hold counts to the team of their namespace, but for those of training jobs."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from edl import contract
from edl.kube.cache.watched_kinds import Stores
from edl.kube.state.incremental_state import IncrementalState
from edl.model import ClusterState, Requirement, Team, Teams
from edl.quantities import PODS, Resources
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.whole_state import whole_state
from tests.edl.kube.world import World

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
TEAMS = Teams.of([Team("a", namespaces=("web",)), Team("b", namespaces=("db-*",))])
LEAVING = {"deletionTimestamp": manifests.CREATED}


def pod(name: str, namespace: str, **more: Any) -> tuple[str, Json]:  # noqa: ANN401 - JSON
    body = manifests.pod(name, **{"node": "n1", "phase": "Running", "cpu": "2", **more})
    body["metadata"]["namespace"] = namespace
    return "Pod", body


def state_of(*objects: tuple[str, Json], teams: Teams = TEAMS) -> ClusterState:
    stores = Stores()
    for selection, store in stores:
        raw = [msgspec.json.encode(body) for kind, body in objects if kind == selection.kind]
        store.replace({item.key: item for item in map(store.item, raw)}, 9)
    return whole_state(stores, NOW, teams)


def namespaces(*names: str) -> list[tuple[str, Json]]:
    return [("Namespace", {"metadata": manifests.metadata(name)}) for name in names]


def test_other_owners_pods_count_to_their_namespaces_team_until_they_terminate() -> None:
    state = state_of(
        *namespaces("web", "db-1", "other"),
        pod("p1", "web"),
        pod("p2", "web", metadata=LEAVING),
        pod("p3", "web", phase="Succeeded"),
        pod("p4", "db-1"),
        pod("p5", "unknown"),
    )
    two = Resources.of({"cpu": 2000, PODS: 1})
    assert state.team_usage == {"a": two, "b": two, "default": two}
    assert state.namespace_teams == {"web": "a", "db-1": "b", "other": "default"}
    assert [state.team_of(one) for one in ("web", "unknown")] == ["a", "default"]


def provisional(name: str, owner: str, **spec: str) -> tuple[str, Json]:
    labels = {
        contract.PROVISIONAL: "train",
        contract.PROVISIONAL_ROLE: "worker",
        "app.kubernetes.io/managed-by": contract.MANAGED_BY,
    }
    owners = [{"apiVersion": "batch/v1", "kind": "Job", "uid": owner, "name": "train"}]
    metadata: Json = {"labels": labels, "ownerReferences": owners}
    kind, body = pod(name, "web", metadata=metadata)
    body["spec"] |= {"priorityClassName": contract.PROVISIONAL_PRIORITY} | spec
    return kind, body


def test_provisional_pods_of_a_training_job_are_the_plans_to_count() -> None:
    job = manifests.member("worker", suspend=True)
    state = state_of(
        *namespaces("web"),
        ("Job", job),
        provisional("p1", job["metadata"]["uid"]),
    )
    assert [one.name for one in state.jobs[0].provisioning.pods] == ["p1"]
    assert state.team_usage == {}


def test_workloads_that_look_like_provisional_pods_count_as_any_other() -> None:
    """A label must not hide what a namespace uses."""
    job = manifests.member("worker", suspend=True)
    state = state_of(
        *namespaces("web"),
        ("Job", job),
        provisional("p1", job["metadata"]["uid"], priorityClassName="high"),
        provisional("p2", "uid-of-none"),
    )
    assert state.jobs[0].provisioning.pods == ()
    assert state.team_usage == {"a": Resources.of({"cpu": 4000, PODS: 2})}
    assert [one.name for one, _ in state.orphans] == ["p2"]


def test_pods_of_training_jobs_are_the_plans_to_count() -> None:
    state = state_of(
        *namespaces("default"),
        ("Job", manifests.member("worker", suspend=False, parallelism=1, completions=1)),
        ("Pod", manifests.job_pod("w0", 0, "mnist-worker", node="n1", phase="Running")),
        teams=Teams.of([Team("a", namespaces=("*",))]),
    )
    assert state.team_usage == {}


def test_a_pod_elsewhere_that_names_a_training_job_as_its_owner_counts_as_any_other() -> None:
    """Its user writes the reference; until the garbage collector looks, the pod runs."""
    job = manifests.member("worker", suspend=False, parallelism=1, completions=1)
    _, forged = pod("p1", "db-1")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "uid": job["metadata"]["uid"], "name": "x"}
    forged["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    state = state_of(*namespaces("web", "db-1"), ("Job", job), ("Pod", forged))
    assert state.team_usage == {"b": Resources.of({"cpu": 2000, PODS: 1})}


def test_pending_pods_ask_for_their_team() -> None:
    state = state_of(
        *namespaces("web", "db-1"),
        *[pod(f"p{at}", "web", node="", phase="Pending") for at in range(2)],
        pod("p9", "db-1", node="", phase="Pending"),
    )
    found = [(one.team, one.count, one.example) for one in state.demands]
    assert found == [("b", 1, "db-1/p9"), ("a", 2, "web/p0")]


def test_without_teams_nothing_is_counted() -> None:
    state = state_of(*namespaces("web"), pod("p1", "web"), teams=Teams())
    assert (state.team_usage, state.namespace_teams, state.team_of("web")) == ({}, {}, "")


def test_a_namespace_changes_its_team_with_its_labels_and_leaves_it_when_it_is_gone() -> None:
    world = World()
    teams = Teams.of([Team("b", selector=(Requirement("gold", "Exists", ()),))])
    incremental = IncrementalState(world.stores, lambda: teams)
    world.tell(*_written(world, pod("p1", "web")))
    usage = Resources.of({"cpu": 2000, PODS: 1})
    for labels, team in (({}, "default"), ({"gold": ""}, "b"), ({}, "default")):
        body = {"metadata": manifests.metadata("web", labels=labels)}
        world.tell(*_written(world, ("Namespace", body)))
        state = incremental.state(NOW)
        assert (state.namespace_teams, state.team_usage) == ({"web": team}, {team: usage})
    world.delete("Namespace", "web")
    assert incremental.state(NOW).namespace_teams == {}


def test_teams_that_are_configured_later_count_pods_that_were_there_before() -> None:
    world = World()
    configured = [Teams()]
    incremental = IncrementalState(world.stores, lambda: configured[-1])
    usage = Resources.of({"cpu": 2000, PODS: 1})
    world.tell(*_written(world, *namespaces("web")))
    for teams, expected in ((Teams(), {}), (TEAMS, {"a": 2 * usage}), (Teams(), {})):
        configured.append(teams)
        for name in ("p1", "p2") if teams else ("p1",):
            world.tell(*_written(world, pod(name, "web")))
        assert incremental.state(NOW).team_usage == expected


def _written(world: World, found: tuple[str, Json]) -> tuple[str, bytes]:
    return found[0], world.write(*found)
