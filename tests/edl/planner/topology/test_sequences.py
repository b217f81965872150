"""Several jobs that ask for a topology, one after the other; and jobs that lose a node.

The situations are those of Kueue's integration tests of topology-aware scheduling.
"""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from edl.contract import PLACEMENT_GATE
from edl.model import ClusterState, Node, Taint, Topology, TrainingJob
from edl.model.nodes import CORDONED
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for, wait_reasons
from tests.edl.planner.states import cluster, job, node, pod, role, room, shape
from tests.edl.planner.topology.cases import key

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
PREEMPT = replace(ALL, preempt=True)
RACKS = ("b1-r1", "b1-r2", "b2-r1", "b2-r2")


def racks(hosts: int = 1) -> tuple[Node, ...]:
    """So many hosts of one CPU in each of two racks of two blocks."""
    return tuple(
        node(f"{rack}-{number}", 1, labels=labels(rack, f"{rack}-{number}"))
        for rack in RACKS
        for number in range(hosts)
    )


def labels(rack: str, host: str) -> dict[str, str]:
    return {key("block"): rack.partition("-")[0], key("rack"): rack, key("host"): host}


def asks(
    name: str, pods: int, queued: float, *, required: str = "", preferred: str = ""
) -> TrainingJob:
    topology = Topology(
        (("", key(required)),) if required else (), (key(preferred),) if preferred else ()
    )
    part = role("worker", pods, pods, gated=True, topology=topology)
    return job(name, part, queued=queued)


def where(state: ClusterState, name: str) -> list[str]:
    """The racks of a job's pods."""
    (part,) = next(one for one in state.jobs if one.key.name == name).roles
    return [one.node.rpartition("-")[0] for one in part.status.pods if one.node]


def settled(state: ClusterState, rounds: int = 12, after: timedelta = SECOND) -> ClusterState:
    """Until nothing is left to do."""
    for _ in range(rounds):
        plan = plan_for(state)
        if quiet(plan):
            return state
        state = act(state, plan, after=after)
    raise AssertionError(f"still something to do: {plan}")


def test_gangs_come_one_after_another_to_the_racks_that_are_left() -> None:
    """As in Kueue: two in a block, one in a rack of the other, and the fourth waits for a rack."""
    jobs = [asks("a", 2, -40, required="block")]
    jobs += [asks(name, 1, -number, required="rack") for number, name in enumerate("dcb", 1)]
    state = settled(cluster(*racks(), *jobs))
    assert sorted(where(state, "a")) == ["b1-r1", "b1-r2"]
    assert {*where(state, "b"), *where(state, "c")} == {"b2-r1", "b2-r2"}
    assert list(wait_reasons(plan_for(state))) == ["d"]
    left = where(state, "c")
    kept = [one for one in state.jobs if one.key.name != "c"]
    emptied = [
        replace(one, used=room(pods=0)) if [one.name.rpartition("-")[0]] == left else one
        for one in state.nodes
    ]
    state = settled(replace(state, nodes=tuple(emptied), jobs=tuple(kept)))
    assert where(state, "d") == left


def full_hosts() -> tuple[tuple[Node, ...], list[TrainingJob]]:
    """Four hosts of eight GPUs: six hold pods of others, two each a job of low priority."""
    hosts = tuple(
        replace(node(f"x{number}", 64, gpu=8), labels={key("host"): f"x{number}"})
        for number in range(4)
    )
    others = room(gpu=6, pods=6)
    low = [
        job(f"low-{number}", role(shape=shape(1, gpu=1), on=[f"x{number // 2}"]))
        for number in range(8)
    ]
    return tuple(replace(one, used=others) for one in hosts), low


def urgent(topology: Topology) -> TrainingJob:
    part = role("worker", 8, 8, shape=shape(1, gpu=1), gated=True, topology=topology)
    return job("urgent", part, priority=10)


def test_no_job_is_preempted_for_a_host_that_would_not_do() -> None:
    hosts, low = full_hosts()
    plan = plan_for(cluster(*hosts, *low, urgent(Topology((("", key("host")),)))), PREEMPT)
    assert quiet(plan)
    assert list(wait_reasons(plan)) == ["urgent"]


def test_jobs_are_preempted_for_pods_that_would_be_on_few_hosts() -> None:
    hosts, low = full_hosts()
    plan = plan_for(cluster(*hosts, *low, urgent(Topology((), (key("host"),)))), PREEMPT)
    assert sorted(one.job.name for one in plan.suspensions) == [one.key.name for one in low]


def test_a_gang_that_a_rack_can_no_longer_complete_starts_in_another() -> None:
    """A node is lost, and its rack has no other: Kueue evicts the gang, and admits it elsewhere."""
    state = settled(cluster(*racks(2), asks("a", 2, -10, required="rack")))
    (rack,) = {*where(state, "a")}
    state = lose(state, f"{rack}-0")
    for _ in range(60):
        state = act(state, plan_for(state), after=MINUTE)
    racks_now = where(state, "a")
    assert len(racks_now) == 2
    assert {*racks_now} != {rack}
    assert len({*racks_now}) == 1


def test_a_gang_that_loses_a_node_stays_in_its_rack_where_another_is_free() -> None:
    state = settled(cluster(*racks(3), asks("a", 2, -10, required="rack")))
    (rack,) = {*where(state, "a")}
    (part,) = state.jobs[0].roles
    kept = part.status.pods[1].node
    state = settled(lose(state, part.status.pods[0].node))
    assert where(state, "a") == [rack, rack]
    assert kept in {one.node for one in state.jobs[0].roles[0].status.pods}


def drained(*, spare: str, taint: str = CORDONED) -> ClusterState:
    """Horovod in the first rack, of whose two nodes one goes; one more is free elsewhere."""
    topology = Topology((("", key("rack")),))
    nodes = [
        node(f"b1-r1-{number}", 2, labels=labels("b1-r1", f"b1-r1-{number}")) for number in range(2)
    ]
    nodes[0] = replace(nodes[0], taints=(Taint(taint, "", "NoSchedule"),))
    nodes[1] = replace(nodes[1], used=room(1))
    nodes.append(node("free", 9, labels=labels(spare, "free")))
    listed = "".join(f"worker-{index}.ring.ns.svc:1\n" for index in range(2))
    launcher = role("launcher", size=1, suspended=False, topology=topology, is_leader=True,
                    pods=(pod(0, "b1-r1-1", hosts=listed),))  # fmt: skip
    workers = role("worker", 1, 2, topology=topology, is_leader=False,
                   on=["b1-r1-0", "b1-r1-1"])  # fmt: skip
    return cluster(*nodes, job("ring", launcher, workers, framework="horovod"))


def test_a_pod_leaves_a_cordoned_node_for_another_of_its_rack() -> None:
    (found,) = plan_for(drained(spare="b1-r1")).drains
    assert found.pods == ("pod-0",)


def test_no_pod_leaves_a_cordoned_node_where_its_rack_has_no_other() -> None:
    assert plan_for(drained(spare="b1-r2")).drains == ()


def test_a_gang_starts_once_nodes_have_the_label_of_its_level() -> None:
    bare = tuple(replace(one, labels={}) for one in racks(2))
    state = cluster(*bare, asks("a", 2, -10, required="rack"))
    assert list(wait_reasons(plan_for(state))) == ["a"]
    state = settled(replace(state, nodes=racks(2)))
    assert len({*where(state, "a")}) == 1
    assert len(where(state, "a")) == 2


def lose(state: ClusterState, name: str) -> ClusterState:
    """The state without a node, whose pods their Job has made again."""
    gated: dict[str, Any] = {"gates": (PLACEMENT_GATE,), "created_at": state.observed_at}
    (one,) = state.jobs
    (part,) = one.roles
    pods = tuple(pod(old.index, **gated) if old.node == name else old for old in part.status.pods)
    nodes = tuple(found for found in state.nodes if found.name != name)
    return replace(state, nodes=nodes, jobs=(replace(one, roles=(part.changed(pods=pods),)),))
