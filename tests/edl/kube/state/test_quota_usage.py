"""From ResourceQuotas, LimitRanges and namespaces to budgets and charges."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from edl.errors import Forbidden
from edl.kube.cache.watched_kinds import Stores
from edl.kube.cluster import Delta, ListOptions, ObjectKey, RawList
from edl.kube.decode.namespace_quotas import QuotaFacts, QuotaRule
from edl.kube.state.incremental_state import IncrementalState, read_state
from edl.kube.state.quota_usage import QuotaIndex
from edl.model import ClusterState, ProvisionalPod, Provisioning, Quota, QuotaCharge, TrainingJob
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.whole_state import whole_state
from tests.edl.kube.world import World
from tests.edl.trainings import role, training
from tests.fake_cluster.cluster import FakeCluster
from tests.reasons import problem_of

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
TEAM = 'ResourceQuota "team"'


def quota(hard: dict[str, str], used: dict[str, str] | None = None) -> tuple[str, Json]:
    status = {"hard": hard, "used": used or dict.fromkeys(hard, "0")}
    body = {"metadata": manifests.metadata("team", "web"), "spec": {"hard": hard}, "status": status}
    return "ResourceQuota", body


def limit_range(**limit: Any) -> tuple[str, Json]:  # noqa: ANN401
    spec = {"limits": [{"type": "Container", **limit}]}
    return "LimitRange", {"metadata": manifests.metadata("small", "web"), "spec": spec}


def namespace(gpus: str) -> tuple[str, Json]:
    notes = {"edl.dev/gpu-budget": gpus}
    return "Namespace", {"metadata": manifests.metadata("web", annotations=notes)}


WORKER = ("Job", manifests.member("worker"))
RUNNING = (
    ("Job", manifests.member("worker", suspend=False, parallelism=2, completions=2)),
    ("Pod", manifests.job_pod("w0", 0, "mnist-worker", node="n1", phase="Running")),
    ("Pod", manifests.job_pod("w1", 1, "mnist-worker", node="n1", phase="Succeeded")),
)


def state_of(*objects: tuple[str, Json]) -> ClusterState:
    stores = Stores()
    for selection, store in stores:
        raw = [msgspec.json.encode(body) for kind, body in objects if kind == selection.kind]
        store.replace({item.key: item for item in map(store.item, raw)}, 9)
    return whole_state(stores, NOW)


def only(state: ClusterState) -> TrainingJob:
    (job,) = state.jobs
    return job


def test_without_quotas_nothing_is_charged() -> None:
    state = state_of(WORKER)
    assert state.quotas == ()
    assert only(state).roles[0].template.charges == ()


def test_others_hold_what_is_used_without_our_own_pods() -> None:
    used = {"requests.cpu": "3500m", "pods": "4"}
    state = state_of(*RUNNING, quota({"requests.cpu": "10", "pods": "8"}, used))
    assert state.quotas == (
        Quota("web", TEAM, "pods", 8, 3),
        Quota("web", TEAM, "requests.cpu", 10_000, 2500),
    )
    assert only(state).roles[0].template.charges == (
        QuotaCharge(TEAM, "pods", 1),
        QuotaCharge(TEAM, "requests.cpu", 1000),
    )


def test_a_watch_that_is_behind_makes_no_room() -> None:
    state = state_of(*RUNNING, quota({"pods": "8"}, {"pods": "0"}))
    assert state.quotas == (Quota("web", TEAM, "pods", 8, 0),)


def test_the_gpu_budget_of_a_namespace_takes_back() -> None:
    gpus = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}
    state = state_of(("Job", manifests.member("worker", pod=gpus)), namespace("4.5"))
    source = "edl.dev/gpu-budget"
    assert state.quotas == (Quota("web", source, "GPUs", 4500, takes_back=True),)
    assert only(state).roles[0].template.charges == (QuotaCharge(source, "GPUs", 2000),)


def bare_pod(phase: str) -> tuple[str, Json]:
    gpus = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}
    labels = {"edl.dev/framework": "pytorch", "edl.dev/job": "ddp"}
    notes = {"edl.dev/rank": "0", "edl.dev/size": "1"}
    meta = {"labels": labels, "annotations": notes}
    return "Pod", manifests.pod("ddp-0", phase=phase, spec=gpus, metadata=meta)


def test_bare_pods_of_training_jobs_count_in_the_gpu_budget() -> None:
    (budget,) = state_of(bare_pod("Running"), namespace("4")).quotas
    assert budget.others == 2000


def test_charges_follow_the_resources_of_a_quota_and_no_job_its_usage() -> None:
    world = World()
    incremental = IncrementalState(world.stores)
    world.tell("Job", world.write(*WORKER))
    for resource, used in (("pods", "1"), ("requests.cpu", "1"), ("requests.cpu", "2")):
        kind, body = quota({resource: "8"}, {resource: used})
        world.tell(kind, world.write(kind, body))
        state = incremental.state(NOW)
        assert [one.resource for one in only(state).roles[0].template.charges] == [resource]
        assert state == whole_state(world.stores, NOW)


def test_gpu_budgets_follow_their_namespace_and_its_bare_pods() -> None:
    world = World()
    incremental = IncrementalState(world.stores)
    expected: list[tuple[tuple[str, Json], tuple[int, int]]] = [
        (namespace("4"), (4000, 0)),
        (bare_pod("Running"), (4000, 2000)),
        (namespace("6"), (6000, 2000)),
        (bare_pod("Succeeded"), (6000, 0)),
    ]
    for (kind, body), found in expected:
        world.tell(kind, world.write(kind, body))
        (budget,) = incremental.state(NOW).quotas
        assert (budget.hard, budget.others) == found
    world.delete("Namespace", "web")
    assert incremental.state(NOW).quotas == ()


def test_defaults_of_a_limit_range_are_in_the_shape_before_there_are_pods() -> None:
    bare = {"containers": [{"name": "main"}]}
    job = ("Job", manifests.member("worker", pod=bare))
    assert only(state_of(job)).roles[0].template.shape.requests.get("cpu") == 0
    found = only(state_of(job, limit_range(defaultRequest={"cpu": "2"})))
    assert found.roles[0].template.shape.requests.get("cpu") == 2000
    assert not problem_of(found)


def test_a_job_that_a_limit_range_refuses_is_held_with_the_field() -> None:
    found = only(state_of(WORKER, limit_range(min={"cpu": "2"})))
    assert problem_of(found) == (
        'worker: LimitRange "small" refuses its pods: container "main": '
        "requests.cpu 1 is below 2 (spec.limits[0].min.cpu); set amounts within these bounds, "
        "or change the LimitRange"
    )


def test_a_new_limit_range_does_not_stop_a_running_job() -> None:
    assert not problem_of(only(state_of(*RUNNING, limit_range(min={"cpu": "2"}))))


class Unreadable(FakeCluster):
    """A cluster in which quotas may not be listed."""

    def list(self, selection: ListOptions) -> RawList:
        if selection.kind in ("ResourceQuota", "LimitRange"):
            raise Forbidden(f"may not list {selection.kind}", 403)
        return super().list(selection)


def test_forbidden_quotas_are_reported_and_the_rest_is_read() -> None:
    cluster = Unreadable(lambda: NOW)
    body = manifests.member("worker")
    cluster.create(manifests.target("Job", body), body)
    missed: dict[str, Forbidden] = {}
    assert len(read_state(cluster, NOW, missed.__setitem__).jobs) == 1
    assert sorted(missed) == ["LimitRange", "ResourceQuota"]


def test_a_provisional_pod_holds_what_a_pod_of_its_role_would_and_no_other_quota() -> None:
    """Its quota by priority counts no pod of the role: there it is another owner's usage."""
    source, other = 'ResourceQuota "team"', 'ResourceQuota "provisional"'
    charges = (QuotaCharge(source, "pods", 1),)
    placeholder = ProvisionalPod(
        "p0", "u0", "worker", "n1", NOW, charges=(*charges, QuotaCharge(other, "pods", 1))
    )
    queued = training(
        role("worker", suspended=True).changed(charges=charges),
        provisioning=Provisioning(pods=(placeholder,)),
    )
    rules = [QuotaRule(name, ("pods",)) for name in ("provisional", "team")]
    quotas = [
        QuotaFacts(queued.key.namespace, rule, (("pods", 8),), (("pods", 3),)) for rule in rules
    ]
    index = QuotaIndex()
    for found in quotas:
        index.apply_quota(Delta(ObjectKey(found.namespace, found.rule.name), None, found))
    index.apply_job(Delta(ObjectKey(*queued.key), None, queued))
    assert {quota.source: quota.others for quota in index.values()} == {other: 3, source: 2}


def test_a_namespace_that_is_gone_leaves_no_sums_behind() -> None:
    charges = (QuotaCharge('ResourceQuota "team"', "pods", 1),)
    placeholder = ProvisionalPod("p0", "u0", "worker", "n1", NOW, charges=charges)
    worker = role("worker", suspended=True).changed(charges=charges)
    queued = training(worker, provisioning=Provisioning(pods=(placeholder,)))
    rule = QuotaRule("team", ("pods",))
    quota = QuotaFacts(queued.key.namespace, rule, (("pods", 8),), (("pods", 3),))
    name, key = ObjectKey(quota.namespace, rule.name), ObjectKey(*queued.key)
    index = QuotaIndex()
    index.apply_quota(Delta(name, None, quota))
    index.apply_job(Delta(key, None, queued))
    assert [one.others for one in index.values()] == [2]
    index.apply_job(Delta(key, queued, None))
    index.apply_quota(Delta(name, quota, None))
    assert index.values() == ()
    assert not any(value for value in vars(index).values() if isinstance(value, dict | set))
