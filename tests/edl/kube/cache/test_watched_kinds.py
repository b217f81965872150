from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from edl.errors import Forbidden
from edl.kube.cache.informer import RetryBackoff
from edl.kube.cache.watched_kinds import AUTOSCALERS, Stores, fill, informers, read_once
from edl.kube.cluster import Cluster, ListOptions, RawList
from edl.kube.state.incremental_state import read_state
from edl.kube.writer.executor import ClusterWriter
from edl.model import JobKey, ObjectRef
from edl.writes import Delete, Json, Step
from tests.edl.kube import manifests
from tests.edl.kube.faults import FaultyCluster
from tests.edl.kube.whole_state import whole_state
from tests.fake_cluster.cluster import FakeCluster

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def cluster_of(*objects: tuple[str, Json]) -> FakeCluster:
    fake = FakeCluster(lambda: NOW)
    fake.unserved = frozenset()
    for kind, body in objects:
        fake.create(manifests.target(kind, body), body)
    return fake


def stores_of(cluster: Cluster) -> Stores:
    stores = Stores()
    for selection, store in stores:
        fill(cluster, selection, store)
    return stores


@pytest.fixture
def fake() -> FakeCluster:
    labelled = {"metadata": manifests.metadata("mnist", "web", labels={"edl.dev/job": "mnist"})}
    plain = {"metadata": manifests.metadata("plain", "web")}
    return cluster_of(
        ("Node", manifests.node("n1")),
        ("Pod", manifests.pod("p")),
        ("Job", manifests.member("chief")),
        ("Job", manifests.job("cron", labels={})),
        ("Service", labelled),
        ("Service", plain),
        ("ServiceAccount", labelled),
        ("ServiceAccount", plain),
    )


def no_kind(_kind: str, error: Forbidden) -> None:
    raise error


def test_lists_of_a_proxy_without_a_version_are_read_once(fake: FakeCluster) -> None:
    versioned = fake.list
    fake.list = lambda selection: replace(versioned(selection), version="")  # type: ignore[method-assign]
    assert [job.name for job in read_state(fake, NOW).jobs[0].roles] == ["chief"]


def test_one_reading_sees_what_matters_and_no_more(fake: FakeCluster) -> None:
    stores = read_once(fake, no_kind)
    owned = [one for store in stores.owned_objects.values() for one in store.values()]
    assert [(one.kind, one.name) for one in owned] == [("Service", "mnist"), ("Service", "plain")]
    state = read_state(fake, NOW)
    assert [role.job for role in state.jobs[0].roles] == ["mnist-chief"]
    assert [node.name for node in state.nodes] == ["n1"]
    assert [demand.example for demand in state.demands] == ["web/p"]


@pytest.mark.parametrize("namespace", ["kube-system", "edl-system", "istio-system"])
def test_nothing_is_managed_in_ignored_namespaces_whatever_its_annotations_say(
    namespace: str,
) -> None:
    job = manifests.member("chief")
    job["metadata"]["namespace"] = namespace
    job["metadata"].setdefault("annotations", {})["edl.dev/injected-max"] = "500"
    bare = manifests.pod("p", metadata={"labels": {"edl.dev/framework": "none"}})
    bare["metadata"]["namespace"] = namespace
    cluster = cluster_of(("Job", job), ("Pod", bare))
    state = read_state(cluster, NOW, ignored=["istio-system"])
    assert (state.jobs, state.bare_jobs) == ((), ())
    assert [demand.example for demand in state.demands] == [f"{namespace}/p"]


def test_a_kind_that_may_not_be_read_is_an_error(fake: FakeCluster) -> None:
    cluster = FaultyCluster(fake)
    cluster.fails["list"] = [Forbidden("may not list pods", 403)]
    with pytest.raises(Forbidden, match="may not list pods"):
        read_state(cluster, NOW)


def test_watching_and_reading_once_see_the_same(fake: FakeCluster) -> None:
    stores = stores_of(fake)
    assert stores.synced
    watched, read = whole_state(stores, NOW), read_state(fake, NOW)
    assert [replace(job, existing_dependents={}) for job in watched.jobs] == [
        replace(job, existing_dependents={}) for job in read.jobs
    ]
    assert (watched.nodes, watched.demands) == (read.nodes, read.demands)


def test_our_writes_are_seen_at_once_and_other_kinds_are_ignored(fake: FakeCluster) -> None:
    stores = stores_of(fake)
    target = ObjectRef("Job", "web", "mnist-chief")
    stores.accept("Job", fake.patch(target, {"spec": {"suspend": False}}))
    stores.accept("Event", {"metadata": {"name": "e", "resourceVersion": "99"}})
    (job,) = whole_state(stores, NOW).jobs
    assert not job.roles[0].status.suspended


def test_what_a_write_finds_gone_is_forgotten_without_a_watch(fake: FakeCluster) -> None:
    stores, gone = stores_of(fake), ObjectRef("Pod", "web", "p")
    writer = ClusterWriter(fake, stores)
    step = Step(JobKey("web", "mnist"), (Delete(gone),))
    for known in (1, 0):
        assert writer.act([step]).done == (step,)
        assert len(stores.pods) == known, "after the first deletion the watch would tell"
    assert len(stores.jobs) == 1


@pytest.mark.parametrize("kind", AUTOSCALERS)
def test_what_autoscalers_bring_along_is_not_waited_for_where_it_may_not_be_read(kind: str) -> None:
    cluster, stores = FaultyCluster(cluster_of()), Stores()
    cluster.fails["list"] = [Forbidden("may not list them", 403)]
    (found,) = [one for one in informers(cluster, stores) if one.selection.kind == kind]
    found.run(RetryBackoff(lambda _seconds: True))
    assert found.store.synced
    assert not stores.autoscaled


def test_pools_are_known_before_karpenter_has_made_a_node() -> None:
    cluster = cluster_of(("NodePool", {"metadata": {"name": "default"}}))
    assert read_state(cluster, NOW).node_pools
    assert not read_state(cluster_of(), NOW).node_pools


def test_the_time_of_one_reading_is_the_one_that_its_answers_tell(fake: FakeCluster) -> None:
    listed, ahead = fake.list, timedelta(hours=1)

    def answered(selection: ListOptions) -> RawList:
        fake.ahead = ahead
        return listed(selection)

    fake.list = answered  # type: ignore[method-assign]
    assert read_state(fake, NOW).observed_at == NOW + ahead
