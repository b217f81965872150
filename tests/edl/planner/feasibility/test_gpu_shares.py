"""Shares of GPUs on the devices of nodes: never too much on one, and never idle for nothing."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.feasibility.gpu_shares import GpusByNode, ShareAllocator
from edl.feasibility.horizon import Horizon
from edl.model import ClusterState, Code, Device, GpuUsage, Node, Shape, Share, TrainingJob
from edl.model.causes.scarcity import Lack, Scarce, Shortage
from edl.planner.decide import allocate
from edl.planner.decision_limits import Limits
from edl.planner.pass_results import PassResults
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.policies import POLICIES
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import SHARED_GPU, Resources
from tests.edl.planner.plans import plan_for, sizes, told, wait_reasons
from tests.edl.planner.states import cluster, job, node, pod, role, room, worker

GIB = 2**30
NOTHING = GpuUsage()


def gpus(*used: int | GpuUsage, memory: int = 0, leaving: GpuUsage = NOTHING) -> tuple[Device, ...]:
    """GPUs `gpu-0`, … of which so much is used; `leaving`: of the last one."""
    parts = [one if isinstance(one, GpuUsage) else GpuUsage(one) for one in used]
    last = len(parts) - 1
    return tuple(
        Device(f"gpu-{place}", memory, part, leaving if place == last else GpuUsage())
        for place, part in enumerate(parts)
    )


def shared(name: str, devices: tuple[Device, ...], **fields: Any) -> Node:  # noqa: ANN401 - the builder's fields
    """A node of KubeShare; the sums of its resources are those of its devices."""
    made = node(name, 64, **fields)
    thousandths = Resources.of({SHARED_GPU: 1000 * len(devices)})
    used = Resources.of({SHARED_GPU: sum(one.used.compute for one in devices)})
    leaving = Resources.of({SHARED_GPU: sum(one.releasing.compute for one in devices)})
    total = made.allocatable + thousandths
    return replace(made, devices=devices, allocatable=total, used=used, releasing=leaving)


def part(compute: int, memory: int = 0, model: str = "") -> Shape:
    requests = room(1) + Resources.of({SHARED_GPU: compute})
    return Shape(requests, share=Share(compute, memory, model))


def state_of(*things: Node | TrainingJob) -> ClusterState:
    """Nodes say themselves what is used."""
    nodes = tuple(found for found in things if isinstance(found, Node))
    jobs = tuple(found for found in things if isinstance(found, TrainingJob))
    return replace(cluster(*jobs), nodes=nodes)


def started(*things: Node | TrainingJob) -> set[str]:
    return {one.job.name for one in plan_for(state_of(*things)).admissions}


def lack(*things: Node | TrainingJob) -> Lack:
    """What the one job that waits is short of."""
    (waiting,) = plan_for(state_of(*things)).waiting
    assert isinstance(waiting.reason.about, Shortage)
    return waiting.reason.about.lack


def test_two_halves_of_two_gpus_do_not_make_a_whole_one() -> None:
    mine = worker("mnist", 1, 1, shape=part(1000))
    assert not started(shared("a", gpus(500, 500)), mine)
    assert started(shared("a", gpus(0, 1000)), mine) == {"mnist"}


def test_a_job_waiting_for_a_gpu_share_gets_a_count_of_fitting_pods() -> None:
    mine = worker("mnist", 2, 2, shape=part(600))
    reason = told(plan_for(state_of(shared("a", gpus(0, 500)), mine)))["mnist"]
    assert "1 of 2 pods" in reason


def test_a_gang_of_several_roles_is_told_how_many_of_its_pods_the_free_devices_take() -> None:
    halves = [pod(at, "a", devices=(f"gpu-{at}",)) for at in range(2)]
    runs = worker("runs", 2, 2, shape=part(500), on=["a", "a"], pods=tuple(halves))
    mine = job("mnist", role("ps"), role("worker", shape=part(700)))
    reason = told(plan_for(state_of(shared("a", gpus(500, 500)), runs, mine)))["mnist"]
    assert "1 of 2 pods" in reason


def test_memory_binds_as_compute_does() -> None:
    mine = worker("mnist", 1, 1, shape=part(100, 6 * GIB))
    full = gpus(GpuUsage(100, 3 * GIB), memory=8 * GIB)
    assert not started(shared("a", full), mine)
    assert started(shared("a", (*full, *gpus(0, memory=8 * GIB))), mine)


def test_without_a_memory_of_its_own_a_share_takes_its_part() -> None:
    mine = worker("mnist", 1, 1, shape=part(500))
    assert not started(shared("a", gpus(GpuUsage(100, 5 * GIB), memory=8 * GIB)), mine)
    assert started(shared("a", gpus(GpuUsage(500, 4 * GIB), memory=8 * GIB)), mine)


def test_only_compute_counts_on_gpus_without_known_memory() -> None:
    mine = worker("mnist", 1, 1, shape=part(500, 99 * GIB))
    assert started(shared("a", gpus(500)), mine) == {"mnist"}


def test_above_one_gpu_whole_devices_are_taken() -> None:
    mine = worker("mnist", 1, 1, shape=part(2000))
    assert not started(shared("a", gpus(0, 100, 100)), mine)
    assert started(shared("a", gpus(0, 100, 0)), mine) == {"mnist"}


def test_pods_of_several_gpus_are_counted_by_whole_devices() -> None:
    """The sum of what is free would hold two of them."""
    mine = worker("mnist", 2, 2, shape=part(2000))
    reason = told(plan_for(state_of(shared("a", gpus(0, 0, 100, 100, 100)), mine)))["mnist"]
    assert "1 of 2 pods" in reason


def test_a_device_has_now_and_later_the_compute_and_the_memory() -> None:
    """Of 8 GiB 6 are idle now, and 3 are left once a pod is placed that waits for the compute."""
    leaving = GpuUsage(800, 2 * GIB)
    devices = GpusByNode([shared("a", gpus(leaving, memory=8 * GIB, leaving=leaving))])
    later = ShareAllocator(Share(500, 5 * GIB), devices, frozenset())
    now = ShareAllocator(Share(100, 4 * GIB), devices, frozenset())
    assert now.allows(0, Horizon.IDLE)
    later.change(0, 1, Horizon.FUTURE_IDLE)
    assert not now.allows(0, Horizon.IDLE)


def test_a_model_is_respected_where_nodes_tell_theirs() -> None:
    mine = worker("mnist", 1, 1, shape=part(500, model="A100"))
    labels = {"nvidia.com/gpu.product": "T4"}
    assert not started(shared("a", gpus(0), labels=labels), mine)
    assert started(shared("a", gpus(0), labels={"nvidia.com/gpu.product": "A100"}), mine)
    assert started(shared("a", gpus(0)), mine)


def test_the_tightest_device_is_taken_first() -> None:
    small, large = role("ps", 1, 1, shape=part(400)), role("worker", 1, 1, shape=part(1000))
    assert started(shared("a", gpus(0, 600)), job("mnist", small, large)) == {"mnist"}
    assert started(shared("a", gpus(600, 0)), job("mnist", large, small)) == {"mnist"}


def test_a_gang_of_shares_starts_as_a_whole_or_not_at_all() -> None:
    three = worker("three", 3, 3, shape=part(600))
    assert not started(shared("a", gpus(0, 0)), three)
    assert started(shared("a", gpus(0, 0, 0)), three) == {"three"}


def test_growth_fills_devices_and_not_their_sum() -> None:
    mine = worker("mnist", 1, 9, shape=part(600))
    (admission,) = plan_for(state_of(shared("a", gpus(0, 0, 500)), mine)).admissions
    assert admission.sizes == (("worker", 2),)


def test_where_devices_have_room_in_sum_for_just_the_pods_that_wait_devices_lack() -> None:
    mine = worker("mnist", 1, 1, shape=part(600))
    assert lack(shared("a", gpus(500, 500)), mine) == Lack(Scarce.DEVICES)
    assert lack(shared("a", gpus(500, 900)), mine) == Lack(Scarce.DEVICES)
    assert lack(shared("a", gpus(500, 901)), mine) == Lack(Scarce.RESOURCE, SHARED_GPU)


def test_gpus_of_ineligible_nodes_do_not_count_as_capacity() -> None:
    here, there = ({"zone": name} for name in ("here", "there"))
    requests = replace(part(600), node_selector=(("zone", "here"),))
    nodes = shared("a", gpus(1000), labels=here), shared("b", gpus(0), labels=there)
    mine = worker("mnist", 1, 1, shape=requests)
    assert lack(*nodes, mine) == Lack(Scarce.RESOURCE, SHARED_GPU)


def test_a_device_that_is_being_left_is_reserved_and_not_used_yet() -> None:
    mine = worker("mnist", 1, 1, shape=part(600))
    plan = plan_for(state_of(shared("a", gpus(600, leaving=GpuUsage(600))), mine))
    assert not plan.admissions
    assert told(plan)["mnist"] == "1 pod waits for others to terminate"


def test_shares_that_terminate_may_be_free_for_a_job_that_waits_for_another_one() -> None:
    over = running("over", 1, "gpu-0", share=400)
    whole, used = worker("whole", 1, 1, shape=part(1000)), gpus(1000, leaving=GpuUsage(600))
    plan = plan_for(state_of(shared("a", used), over, whole))
    assert wait_reasons(plan)["whole"].code is Code.INSUFFICIENT_CAPACITY


def test_shares_of_training_jobs_that_terminate_are_freed_once() -> None:
    leaving = pod(0, "a", devices=("gpu-1",), terminating=True)
    stops = worker("stops", 1, 1, pods=(leaving,), shape=part(500), paused=True)
    whole, used = worker("whole", 1, 1, shape=part(1000)), gpus(500, 1000, leaving=GpuUsage(500))
    plan = plan_for(state_of(shared("a", used), stops, whole))
    assert wait_reasons(plan)["whole"].code is Code.NEVER_FITS


def running(name: str, low: int, *on: str, share: int = 500) -> TrainingJob:
    pods = tuple(pod(index, "a", devices=(uuid,)) for index, uuid in enumerate(on))
    fields = {"size": len(on), "suspended": False, "pods": pods, "shape": part(share)}
    return worker(name, low, len(on) + (low == len(on)), **fields)


def test_extras_yield_on_the_device_that_helps() -> None:
    """Two extras must go for a whole GPU, and both are on the same one."""
    rich = running("rich", 2, "gpu-0", "gpu-2", "gpu-1", "gpu-1")
    used = shared("a", gpus(500, 1000, 500))
    whole = worker("whole", 1, 1, shape=part(1000))
    plan = plan_for(state_of(used, rich, whole))
    assert sizes(plan) == {"rich": 2}
    assert told(plan)["whole"] == "1 pod waits for others to terminate: ns/rich"


def test_no_replica_is_reclaimed_for_a_gpu_that_stays_shared() -> None:
    rich = running("rich", 2, "gpu-0", "gpu-1", "gpu-0", "gpu-1")
    whole = worker("whole", 1, 1, shape=part(1000))
    assert not plan_for(state_of(shared("a", gpus(1000, 1000)), rich, whole)).resizes


# Laws.


@st.composite
def shares(draw: st.DrawFn) -> Shape:
    compute = draw(st.sampled_from([100, 250, 400, 500, 600, 1000, 2000]))
    memory = draw(st.sampled_from([0, 0, 1, 3, 5]))
    return part(compute, memory * GIB if compute <= 1000 else 0)


@st.composite
def machines(draw: st.DrawFn, name: str) -> Node:
    memory = draw(st.sampled_from([0, 8 * GIB]))
    used = [
        GpuUsage(compute, draw(st.integers(0, 8)) * GIB if memory else 0)
        for compute in draw(
            st.lists(st.sampled_from([0, 0, 300, 500, 1000]), min_size=1, max_size=3)
        )
    ]
    return shared(name, gpus(*used, memory=memory))


@st.composite
def mixes(draw: st.DrawFn) -> ClusterState:
    """Jobs with shares that run on devices, and others that wait."""
    found = [draw(machines(name)) for name in ("a", "b")[: draw(st.integers(1, 2))]]
    jobs = []
    for number in range(draw(st.integers(1, 5))):
        low = draw(st.integers(1, 3))
        most = low + draw(st.integers(0, 3))
        one = worker(f"job-{number}", low, most, shape=draw(shares()), queued=-60 * number,
                     priority=draw(st.sampled_from([0, 0, 1])))  # fmt: skip
        jobs.append(
            _begun(one, found, draw(st.integers(low, most))) if draw(st.booleans()) else one
        )
    return state_of(*found, *jobs)


def _begun(one: TrainingJob, found: list[Node], size: int) -> TrainingJob:
    """Started on the first devices that have room; left alone where it has none."""
    wanted, before, pods = one.roles[0].template.shape, list(found), []
    for index in range(size):
        place = _first(wanted, found)
        if place is None:
            break
        number, uuids = place
        pods.append(pod(index, found[number].name, devices=uuids))
        found[number] = _with(found[number], wanted, uuids)
    if len(pods) < one.roles[0].spec.min:
        found[:] = before
        return one
    part = one.roles[0].changed(size=len(pods), suspended=False, pods=tuple(pods))
    return replace(one, roles=(part,), started_at=one.queued_at)


def need(device: Device, share: Share) -> GpuUsage:
    if share.compute > 1000:
        return GpuUsage(1000, device.memory)
    memory = share.memory or share.compute * device.memory // 1000
    return GpuUsage(share.compute, memory if device.memory else 0)


def fits(device: Device, share: Share) -> bool:
    asked = need(device, share)
    enough = device.used.memory + asked.memory <= device.memory or not asked.memory
    return device.used.compute + asked.compute <= 1000 and enough


def _first(wanted: Shape, found: list[Node]) -> tuple[int, tuple[str, ...]] | None:
    assert wanted.share
    count = max(1, wanted.share.compute // 1000)
    for number, one in enumerate(found):
        free = [device.uuid for device in one.devices if fits(device, wanted.share)]
        if len(free) >= count:
            return number, tuple(free[:count])
    return None


def _with(one: Node, wanted: Shape, uuids: tuple[str, ...]) -> Node:
    assert wanted.share
    devices = tuple(
        device._replace(used=device.used.plus(need(device, wanted.share)))
        if device.uuid in uuids
        else device
        for device in one.devices
    )
    return replace(one, devices=devices, used=one.used + wanted.requests)


def decided(
    state: ClusterState, policy: str = "fair", *, preempt: bool = False
) -> tuple[Snapshot, dict[int, list[tuple[GpuUsage, GpuUsage]]]]:
    """The board after everything was decided, and what was free before, by row."""
    snapshot = take_snapshot(state, POLICIES[policy], Limits(load_ceiling=1, preempt=preempt))
    assert snapshot.capacity.gpu_shares is not None
    gpus = snapshot.capacity.gpu_shares.gpus
    before = {at: [(gpu.idle, gpu.future_idle) for gpu in gpus[at]] for at in gpus.nodes}
    allocate(snapshot, PassResults(), GrowthCeiling(snapshot))
    return snapshot, before


def crowded() -> ClusterState:
    """By their compute all of these fit on the device, by its memory one of them does not."""
    first = pod(0, "a", devices=("gpu-0",))
    begun = {"size": 1, "suspended": False, "pods": (first,)}
    grows = worker("grows", 1, 4, shape=part(100), queued=-120, **begun)
    waits = [worker("small", 1, 1, shape=part(100), queued=0),
             worker("large", 1, 1, shape=part(400), queued=-60)]  # fmt: skip
    used = shared("a", gpus(GpuUsage(100, GIB + 8 * GIB // 10), memory=8 * GIB))
    return state_of(replace(used, used=used.used + room(1)), grows, *waits)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(state=mixes(), policy=st.sampled_from(sorted(POLICIES)), preempt=st.booleans())
@example(state=crowded(), policy="fair", preempt=False)
def test_no_device_is_overcommitted_and_sums_agree(
    *, state: ClusterState, policy: str, preempt: bool
) -> None:
    snapshot, before = decided(state, policy, preempt=preempt)
    assert snapshot.capacity.gpu_shares is not None
    resource = snapshot.capacity.resources.index(SHARED_GPU)
    for at, found in snapshot.capacity.gpu_shares.gpus.items():
        for gpu, (now, soon) in zip(found, before[at], strict=True):
            assert gpu.future_idle.compute >= min(soon.compute, 0)
            assert gpu.future_idle.memory >= min(soon.memory, 0)
            assert gpu.idle.compute >= min(now.compute, 0)
            assert gpu.idle.memory >= min(now.memory, 0)
        assert (
            sum(gpu.future_idle.compute for gpu in found)
            == snapshot.capacity.future_idle[resource, at]
        )
        assert sum(gpu.idle.compute for gpu in found) == snapshot.capacity.idle[resource, at]


@settings(max_examples=60, deadline=None)
@given(st.lists(machines("a"), min_size=1, max_size=3), shares())
def test_a_single_pod_starts_where_any_device_takes_it(found: list[Node], wanted: Shape) -> None:
    nodes = [replace(one, name=f"node-{number}") for number, one in enumerate(found)]
    possible = _first(wanted, nodes) is not None
    assert bool(started(*nodes, worker("mnist", 1, 1, shape=wanted))) is possible


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_discarded_reservation_restores_the_gpu_shares(size: int) -> None:
    rich = running("rich", 1, "gpu-0", "gpu-1", "gpu-2", share=400)
    huge = worker("huge", size, size, shape=part(2000), queued=-9000)
    used = shared("a", gpus(1000, 400, 400))
    snapshot, before = decided(state_of(used, rich, huge))
    assert snapshot.capacity.gpu_shares is not None
    after = [(gpu.idle, gpu.future_idle) for gpu in snapshot.capacity.gpu_shares.gpus[0]]
    assert (after == before[0]) is (size > 1)
