"""Pods whose PersistentVolumeClaim is not there ask for no room: no room would help them."""

from datetime import UTC, datetime

import pytest

from edl.kube.state.incremental_state import IncrementalState
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.whole_state import whole_state
from tests.edl.kube.world import LEAVING, World, claim, with_claim
from tests.reasons import problem_of

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
KIND = "PersistentVolumeClaim"


@pytest.fixture
def world() -> World:
    """A pod of others that names two claims, where none is listed yet."""
    world = World()
    pod = manifests.pod("p1", spec=with_claim("data", "logs"))
    world.tell("Pod", world.write("Pod", pod))
    return world


def tell(world: World, *claims: Json) -> None:
    for body in claims:
        world.tell(KIND, world.write(KIND, body))


def asking(incremental: IncrementalState, world: World) -> list[str]:
    state = incremental.state(NOW)
    assert state.demands == whole_state(world.stores, NOW).demands
    return [demand.example for demand in state.demands]


def test_a_pod_asks_for_room_while_every_claim_that_it_names_is_there(world: World) -> None:
    incremental = IncrementalState(world.stores)
    world.relist(KIND)
    assert asking(incremental, world) == []
    tell(world, claim("data"))
    assert asking(incremental, world) == []
    tell(world, claim("logs", "Pending"))  # bound once the pod has a node
    assert asking(incremental, world) == ["web/p1"]
    world.delete(KIND, "data")
    assert asking(incremental, world) == []


@pytest.mark.parametrize("unusable", [claim("logs", "Lost"), claim("logs", **LEAVING)])
def test_a_claim_that_no_pod_can_be_placed_with_is_none(world: World, unusable: Json) -> None:
    incremental = IncrementalState(world.stores)
    tell(world, claim("data"), claim("logs"))
    world.relist(KIND)
    assert asking(incremental, world) == ["web/p1"]
    tell(world, unusable)
    assert asking(incremental, world) == []


def test_a_claim_of_another_namespace_is_another_one(world: World) -> None:
    incremental = IncrementalState(world.stores)
    elsewhere = claim("logs")
    elsewhere["metadata"]["namespace"] = "else"
    tell(world, claim("data"), elsewhere)
    world.relist(KIND)
    assert asking(incremental, world) == []


def test_every_pod_counts_as_asking_while_claims_cannot_be_listed(world: World) -> None:
    """And one who has yet to list them."""
    incremental = IncrementalState(world.stores)
    assert asking(incremental, world) == ["web/p1"]
    world.relist(KIND)
    assert asking(incremental, world) == []


def test_a_pod_without_a_claim_waits_for_none(world: World) -> None:
    incremental = IncrementalState(world.stores)
    world.relist(KIND)
    world.tell("Pod", world.write("Pod", manifests.pod("p2")))
    own = {"volumes": [{"name": "scratch", "ephemeral": {}}, {"name": "tmp", "emptyDir": {}}]}
    world.tell("Pod", world.write("Pod", manifests.pod("p3", spec=own)))
    assert asking(incremental, world) == ["web/p2"]
    world.delete("Pod", "p1")
    world.delete("Pod", "p2")
    assert asking(incremental, world) == ["web/p3"]


def problem(incremental: IncrementalState, world: World) -> str:
    state = incremental.state(NOW)
    assert state.jobs == whole_state(world.stores, NOW).jobs
    (job,) = state.jobs
    return problem_of(job)


def test_a_job_waits_for_the_claims_of_its_template_with_the_reason(world: World) -> None:
    """Its start would fail, and then back off, although it fits."""
    job = manifests.member("worker", pod=with_claim("data", "data", "logs"))
    incremental = IncrementalState(world.stores)
    world.tell("Job", world.write("Job", job))
    tell(world, claim("logs"))
    assert problem(incremental, world) == ""  # claims are not listed yet, or may not be
    world.relist(KIND)
    assert problem(incremental, world) == (
        'PersistentVolumeClaim "data" does not exist, is being deleted, or has lost its volume: '
        "create it, or recreate the Jobs with another"
    )
    tell(world, claim("data", "Pending"))  # bound once the pod has a node
    assert problem(incremental, world) == ""
    world.delete(KIND, "data")
    assert problem(incremental, world).startswith('PersistentVolumeClaim "data" does not exist')


def test_a_job_that_runs_is_resized_whatever_becomes_of_its_claims(world: World) -> None:
    job = manifests.member("worker", pod=with_claim("data"), suspend=False)
    incremental = IncrementalState(world.stores)
    world.tell("Job", world.write("Job", job))
    world.relist(KIND)
    assert problem(incremental, world) == ""
