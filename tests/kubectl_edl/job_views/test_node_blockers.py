"""Nodes that are not ready under pods of a training job."""

from typing import Any, Final

import pytest

from edl.model import JobKey, NodeStateTimes, Taint, Toleration, TrainingJob
from edl.planner.plan import StayingPods
from kubectl_edl.cli.context import Scope
from kubectl_edl.job_views.node_blockers import (
    UNREACHABLE,
    node_blockers,
    staying_text,
    unready_nodes,
)
from kubectl_edl.job_views.training_job_view import view
from tests.edl.planner.states import at, node, pod, shape, worker

GONE: Final = node(
    "real-0",
    ready=False,
    since=NodeStateTimes(unready=at(-60)),
    taints=(Taint(UNREACHABLE, effect="NoExecute"), Taint(UNREACHABLE, effect="NoSchedule")),
)
AGAIN = "only when the node is ready again, deleted or tainted out-of-service"
DELETE = "kubectl delete node real-0"
TAINT = "kubectl taint node real-0 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
EITHER = f"make sure that its machine is off, then: {TAINT}; or: {DELETE}"


def on_it(pods: int = 4, *, terminating: bool = False, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    there = tuple(
        pod(index, "real-0", ready=False, terminating=terminating, due_at=at(-31))
        for index in range(pods)
    )
    others = tuple(fields.pop("others", ()))
    return worker("mnist", 4, 4, suspended=False, size=4, pods=(*there, *others), **fields)


def said(job: TrainingJob) -> list[tuple[str, str]]:
    return [(one.what, one.remedy) for one in unready_nodes(job, [node("fine"), GONE])]


def test_pods_on_an_unreachable_node_are_named_with_the_time_of_their_eviction() -> None:
    begins = "4 pods are on real-0, which is not ready (unreachable) since 2026-01-01 11:59:00 UTC"
    evicts = "Kubernetes evicts pods there after 5m (tolerationSeconds)"
    assert said(on_it()) == [(f"{begins}: {evicts}", EITHER)]
    strict = on_it(ignores=True)
    assert said(strict) == [(f"{begins}: {evicts}, and replaces them {AGAIN}", EITHER)]
    evicted = on_it(terminating=True, ignores=True)
    ended = f"evicted, but not known to have ended; replaced {AGAIN}"
    assert said(evicted) == [(f"{begins}: {ended}", EITHER)]


@pytest.mark.parametrize(
    ("pods", "says"),
    [
        (1, "pod-0 stays on the cordoned node a, as it tolerates the cordon, and its Pod"),
        (2, "pod-0, pod-1 stay on the cordoned node a, as they tolerate the cordon, and their Pod"),
    ],
)
def test_pods_that_tolerate_the_cordon_are_named_as_such(pods: int, says: str) -> None:
    named = tuple((f"pod-{index}", "a") for index in range(pods))
    stays = StayingPods(JobKey("ns", "mnist"), "worker", named, 0, tolerated=True)
    assert staying_text(stays).startswith(says)


@pytest.mark.parametrize(("key", "remedy"), [(UNREACHABLE, EITHER), ("", DELETE)])
def test_pods_that_tolerate_the_taint_may_never_be_evicted(key: str, remedy: str) -> None:
    """The taint out-of-service removes no pod that tolerates every taint."""
    tolerant = shape(tolerations=(Toleration(key, "Exists"),))
    ((what, fix),) = said(on_it(1, shape=tolerant))
    assert what.endswith(
        ": Kubernetes never evicts pods there, as they tolerate this without tolerationSeconds"
    )
    assert fix.endswith(remedy)


@pytest.mark.parametrize(
    ("tolerations", "evicts"),
    [
        ([Toleration(UNREACHABLE, "Exists", effect="NoExecute", seconds=3600)], "after 1h"),
        ([Toleration(UNREACHABLE, "Exists", seconds=30), Toleration("", "Exists")], "after 30s"),
        ([Toleration("", "Exists", effect="NoSchedule")], "after 5m"),
        ([Toleration(UNREACHABLE, "Exists", effect="NoExecute", seconds=0)], "at once"),
        ([Toleration(UNREACHABLE, "Exists", effect="NoExecute", seconds=-5)], "at once"),
        ([Toleration(UNREACHABLE, "Exists", seconds=2**63 - 1)], "after 36500d"),
        ([Toleration(UNREACHABLE, "Equal", "other", "NoExecute")], "at once"),
    ],
)
def test_tolerations_of_the_template_decide_when_pods_are_evicted(
    tolerations: list[Toleration], evicts: str
) -> None:
    ((what, _),) = said(on_it(1, shape=shape(tolerations=tuple(tolerations))))
    assert what.endswith(f": Kubernetes evicts pods there {evicts} (tolerationSeconds)")


def test_terminating_pods_that_are_replaced_or_whose_job_is_stopped_are_not_named() -> None:
    new = tuple(pod(index, "fine") for index in range(4))
    assert said(on_it(terminating=True, others=new)) == []
    stopped = worker(
        "mnist", 4, 4, suspended=True, pods=on_it(terminating=True).roles[0].status.pods
    )
    assert said(stopped) == []


def test_without_the_right_to_read_nodes_late_terminations_are_named() -> None:
    shown = view(on_it(3, terminating=True), Scope())
    (found,) = node_blockers(shown, (), (), at(0))
    assert found.what == (
        f"3 pods on real-0 did not terminate in the grace period: if the node is not ready, "
        f"replaced {AGAIN}"
    )
    assert found.remedy == "ask a cluster administrator to run: kubectl get node real-0"
    assert list(node_blockers(shown, (), (), at(-1))) == []
