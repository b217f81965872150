"""Sizes come to rest beside a gang that lost nodes, while the Job controller backs off."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, example
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.job_state.lost_pods import stands_still
from edl.model import Assignment, ClusterState, Node, ResizePolicy, Topology, TrainingJob
from edl.planner.plan import Plan
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act
from tests.edl.planner.states import cluster, node, shape, worker
from tests.edl.planner.ways import WAYS, Way, last_sizes, law, lived, rests
from tests.edl.reached import Reached

pytestmark = pytest.mark.laws

RACK = "rack"
CORES = 4
ROUNDS = 40
ROUNDS_PER_REPLICA = 3
"""It is created, its cooldown ends, and the quiet period of the policy."""


@packed
def struck(draw: Draw) -> ClusterState:
    """Racks of nodes, a gang that lost some of its own, and elastic jobs that run or wait.

    The nodes are gone, or not ready.
    """
    count = draw.between(2, 4)
    nodes = [node(f"n{number}", CORES, labels={RACK: f"r{number // count}"}) for number in range(9)]
    gang = _gang(draw, nodes[:count])
    lost = {one.name for one in nodes[: draw.between(1, count)]}
    left = [one for one in nodes if one.name not in lost]
    dead = [replace(one, ready=False) for one in nodes if one.name in lost]
    left += [one for one in dead if draw.yes()]
    gang = _without(gang, lost, draw.between(1, 6))
    others = [_elastic(draw, number) for number in range(draw.between(1, 3))]
    return cluster(*left, gang, *others)


def _gang(draw: Draw, rack: list[Node]) -> TrainingJob:
    cpu, least = draw.one_of(1, 2), draw.between(1, 4)
    on = [one.name for one in rack for _ in range(CORES // cpu)]
    on = on[: draw.between(min(least, len(on)), len(on))]
    required = draw.one_of((("", RACK),), (("", RACK),), ())
    found = worker(
        "gang",
        min(least, len(on)),
        len(on) + draw.between(0, 4),
        on=on,
        shape=shape(cpu),
        gated=True,
        topology=Topology(required=required),
        assigned=Assignment(0, tuple(on)),
        priority=draw.one_of(0, 0, 1),
    )
    return replace(found, framework=draw.one_of("pytorch", "horovod"))


def _without(gang: TrainingJob, lost: set[str], failures: int) -> TrainingJob:
    (role,) = gang.roles
    pods = tuple(one for one in role.status.pods if one.node not in lost)
    return replace(gang, roles=(role.changed(pods=pods, failures=failures),))


def _elastic(draw: Draw, number: int) -> TrainingJob:
    high = draw.between(2, 24)
    kind = draw.one_of(ResizePolicy.ITEMS, ResizePolicy.LIVE)
    fields: dict[str, Any] = {
        "resizing": kind,
        "indexed": kind is ResizePolicy.LIVE,
        "queued": number,
    }
    return worker(f"other-{number}", draw.between(1, 2), high, **fields)


def rounds(state: ClusterState) -> int:
    """Lost pods may let every plan add one replica only, to leave them their nodes."""
    extras = sum(part.spec.max - part.spec.min for one in state.jobs for part in one.roles)
    return ROUNDS + ROUNDS_PER_REPLICA * extras


def growing_by_one() -> ClusterState:
    """Either large job takes ten replicas, one after the other: n8 has room for one beside `gang`.

    Its lost pod goes to n8, the only node of its rack.
    """
    nodes = [node(f"n{number}", CORES, labels={RACK: f"r{number // 2}"}) for number in range(1, 9)]
    gang = worker(
        "gang",
        1,
        2,
        on=["n0", "n0"],
        shape=shape(2),
        gated=True,
        topology=Topology(required=(("", RACK),)),
        assigned=Assignment(0, ("n0", "n0")),
    )
    live = worker("other-0", 2, 11, indexed=True, queued=0)
    items = worker("other-1", 1, 11, resizing=ResizePolicy.ITEMS, indexed=False, queued=1)
    more = worker("other-2", 1, 2, resizing=ResizePolicy.ITEMS, indexed=False, queued=2)
    gang = _without(replace(gang, framework="pytorch"), {"n0"}, 2)
    return cluster(*nodes, gang, live, items, more)


@example(way=WAYS["throughput"], state=growing_by_one(), spreading=False)
@law(struck(), spreading=st.booleans())
def test_sizes_come_to_rest_while_lost_pods_are_not_created_and_afterwards(
    reached: Reached,
    way: Way,
    state: ClusterState,
    spreading: bool,  # noqa: FBT001 - hypothesis draws it
) -> None:
    before, waits = lived(way, state, rounds(state), spreading=spreading, backing_off=True)
    assert rests(before[-1]), last_sizes(before)
    created = act(waits, Plan(), after=timedelta(seconds=1), spreading=spreading)
    after, _ = lived(way, created, rounds(state), spreading=spreading)
    assert rests(after[-1]), last_sizes(after)
    reached(any(plan.resizes or plan.admissions for plan in before))


@packed
def crowded(draw: Draw) -> ClusterState:
    """A gang that lost so much of a rack that it stands still, and a job in the other racks."""
    state = draw.of(struck())
    (role,) = state.jobs[0].roles
    least = draw.between((3 * role.status.size + 3) // 4, role.status.size)
    role = role.changed(min=least, resizing=ResizePolicy.LIVE, failures=6)
    role = role.changed(topology=Topology(required=(("", RACK),)))
    gang = replace(state.jobs[0], framework="pytorch", roles=(role,))
    free = [one.name for one in state.nodes if rack_of(one) != "r0"]
    on = [name for name in free for _ in range(draw.between(0, CORES))]
    other = [worker("other", draw.between(1, len(on)), len(on), on=on)] if on else []
    nodes = [node(one.name, CORES, labels=one.labels, ready=one.ready) for one in state.nodes]
    return cluster(*nodes, gang, *other)


def rack_of(one: Node) -> str:
    return (one.labels or {})[RACK]


def most_pods(state: ClusterState, cpu: int, beside: Counter[str]) -> dict[str, int]:
    """By rack, how many such pods fit beside so many pods of 1 CPU by node."""
    found: Counter[str] = Counter()
    for one in state.nodes:
        found[rack_of(one)] += (CORES - beside[one.name]) // cpu
    return found


@law(crowded())
def test_a_gang_leaves_its_rack_for_one_with_room_or_if_its_own_can_never_hold_it(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    gang, *others = state.jobs
    cpu, least = gang.roles[0].template.shape.requests.get("cpu") // 1000, gang.roles[0].spec.min
    ready = sum(one.schedulable for one in state.nodes if rack_of(one) == "r0")
    assume({one.name for one in state.nodes}.intersection(gang.roles[0].record.assigned.nodes))
    waits = stands_still(gang) and CORES // cpu * ready < least
    kept = Counter(pod.node for one in others for pod in one.roles[0].status.pods
                   if pod.index < one.roles[0].spec.min)  # fmt: skip
    returns = most_pods(state, cpu, Counter()).get("r0", 0) >= least
    elsewhere = most_pods(state, cpu, kept if returns else Counter())
    room = any(pods >= least for rack, pods in elsewhere.items() if rack != "r0")
    left = [one.job for one in way.plan(state).suspensions]
    reached(waits)
    assert left == ([gang.key] if waits and room else [])
