"""Where the webhook knows namespaces from, and what it does about one that it does not know."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from edl import contract
from edl.errors import ClusterError, NotFound, Unreachable
from edl.inject.handlers import Context
from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from edl.parsing.namespace_policy import NamespacePolicy
from tests.edl.kube.faults import FaultyCluster
from tests.fake_cluster.cluster import FakeCluster
from tests.webhook import listeners, reviews, wire
from webhook.http.connection_limits import ConnectionLimits
from webhook.namespace_policies import NamespacePolicies, NoPolicies, WatchedPolicies
from webhook.routes import RouteContext, add_probe_routes, add_review_routes, create_app

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SMALL = {contract.LARGEST_MAX: "4"}
SECONDS = 30


def put(cluster: FakeCluster, name: str, annotations: dict[str, str] | None = None) -> None:
    body = {"metadata": {"name": name, "annotations": annotations or {}}}
    cluster.create(ObjectRef("Namespace", "", name), body)


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster(lambda: NOW)
    put(made, "lab", SMALL)
    return made


@pytest.fixture
def watched(cluster: FakeCluster) -> Iterator[WatchedPolicies]:
    policies = WatchedPolicies(cluster, cluster)
    yield policies
    policies.stop()


def wait_for(policies: WatchedPolicies, namespace: str, largest_max: int | None) -> None:
    """Until the watch has brought that."""
    for _ in range(SECONDS * 100):
        if (found := policies.known(namespace)) and found.largest_max == largest_max:
            return
        threading.Event().wait(0.01)
    raise AssertionError(policies.known(namespace))


def test_before_the_first_list_nothing_is_known_and_it_says_so(watched: WatchedPolicies) -> None:
    assert watched.known("lab") is None
    assert watched.problem() == "the cluster's namespaces are not known yet"


def test_afterwards_every_namespace_is_and_changes_are_followed(
    watched: WatchedPolicies, cluster: FakeCluster
) -> None:
    watched.start()
    wait_for(watched, "lab", 4)
    assert watched.problem() == ""
    body = {"metadata": {"annotations": {contract.LARGEST_MAX: "8"}}}
    cluster.patch(ObjectRef("Namespace", "", "lab"), body)
    wait_for(watched, "lab", 8)
    put(cluster, "office")
    wait_for(watched, "office", None)
    assert watched.known("nowhere") is None


class Late:
    """Policies whose watch has brought the namespace `office` only; the API server is ahead."""

    def __init__(self, ahead: Cluster) -> None:
        self.seconds = 0.0
        behind = FakeCluster(lambda: NOW)
        put(behind, "office")
        self.policies = WatchedPolicies(behind, ahead, lambda: self.seconds)
        self.policies.start()
        wait_for(self.policies, "office", None)


@pytest.fixture
def asked(cluster: FakeCluster) -> FaultyCluster:
    return FaultyCluster(cluster)


@pytest.fixture
def late(asked: FaultyCluster) -> Iterator[Late]:
    made = Late(asked)
    yield made
    made.policies.stop()


def test_what_was_fetched_is_known_from_then_on(
    late: Late, asked: FaultyCluster, cluster: FakeCluster
) -> None:
    put(cluster, "new", SMALL)
    for _ in range(3):
        assert late.policies.fetch("new").largest_max == 4
    found = late.policies.known("new")
    assert found is not None
    assert found.largest_max == 4
    assert asked.asked["get"] == 1


def test_no_namespace_is_fetched_before_the_first_list(
    watched: WatchedPolicies,
) -> None:
    with pytest.raises(Unreachable, match="the cluster's namespaces are not known yet"):
        watched.fetch("lab")


def test_a_namespace_that_cannot_be_read_is_not_asked_for_again_so_soon(
    late: Late, asked: FaultyCluster
) -> None:
    for _ in range(3):
        with pytest.raises(NotFound, match="nowhere"):
            late.policies.fetch("nowhere")
    assert asked.asked["get"] == 1
    late.seconds += 3.1
    with pytest.raises(NotFound, match="nowhere"):
        late.policies.fetch("nowhere")
    assert asked.asked["get"] == 2


def test_names_that_a_sender_makes_up_cost_few_requests(
    late: Late, asked: FaultyCluster, cluster: FakeCluster
) -> None:
    for number in range(1000):
        with pytest.raises(ClusterError):
            late.policies.fetch(f"made-up-{number}")
    assert asked.asked["get"] == 64
    put(cluster, "new")
    with pytest.raises(Unreachable, match="too many namespaces could not be read"):
        late.policies.fetch("new")
    late.seconds += 3.1
    assert late.policies.fetch("new") == NamespacePolicy("new")


def test_without_a_cluster_no_namespace_says_anything() -> None:
    assert NoPolicies().known("lab") == NoPolicies().fetch("lab") == NamespacePolicy()
    assert NoPolicies().problem() == ""


class Remembering(NoPolicies):
    """Knows no namespace before it has fetched it; counts how often, and on which threads."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.threads: list[int] = []

    def known(self, namespace: str) -> NamespacePolicy | None:
        del namespace
        return None

    def fetch(self, namespace: str) -> NamespacePolicy:
        self.threads.append(threading.get_ident())
        if self.error:
            raise self.error
        return NamespacePolicy(namespace, largest_max=4)


class Conversation:
    """One request to the app as the webhook serves it."""

    def __init__(self, policies: NamespacePolicies, path: str, body: bytes) -> None:
        routes = RouteContext(Context(frozenset(), "x"), str, policies=policies)
        self._app = create_app(routes, add_review_routes, add_probe_routes)
        self._request = wire.request("POST", path, body)
        self._answer = (0, b"")

    def answer(self) -> tuple[int, bytes]:
        listeners.run(self._ask)
        return self._answer

    async def _ask(self) -> None:
        async with listeners.opened(ConnectionLimits(), app=self._app) as listener:
            self._answer = await listener.ask(self._request)

    def metrics(self) -> str:
        return self._app.test_client().get("/metrics").text


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_an_unknown_namespace_is_fetched_outside_the_event_loop(path: str) -> None:
    policies = Remembering()
    body = reviews.review(reviews.job(framework="none", max="5"), namespace="lab")
    conversation = Conversation(policies, path, body)
    status, answer = conversation.answer()
    assert status == 200
    assert (
        "above 4, the edl.dev/largest-max of namespace"
        in (reviews.response(answer)["status"]["message"])
    )
    (thread,) = policies.threads
    assert thread != threading.get_ident()
    (counted,) = (line for line in conversation.metrics().splitlines() if "reviews_total{" in line)
    assert counted.endswith(" 1.0"), "one review is counted once"


@pytest.mark.parametrize(
    "error", [Unreachable("no answer"), NotFound('namespaces "lab" not found', 404)]
)
def test_an_object_in_an_unreadable_namespace_waits(error: Exception) -> None:
    body = reviews.review(reviews.job(framework="none"), namespace="lab")
    status, answer = Conversation(Remembering(error), "/mutate", body).answer()
    found = reviews.response(answer)
    assert (status, found["allowed"], found["status"]["code"]) == (200, False, 503)
    assert found["status"]["message"] == (
        f"Job lab/mnist: its namespace cannot be read ({error}); nothing was written, try again"
    )


def test_an_object_that_is_not_ours_waits_for_no_namespace() -> None:
    policies = Remembering(Unreachable("no answer"))
    body = reviews.review(reviews.job(framwork="none"), namespace="lab")
    status, answer = Conversation(policies, "/advise", body).answer()
    found = reviews.response(answer)
    assert (status, found["allowed"], len(found["warnings"])) == (200, True, 1)
    assert not policies.threads


class Known(NoPolicies):
    """Every namespace has a limit."""

    def known(self, namespace: str) -> NamespacePolicy | None:
        return NamespacePolicy(namespace, largest_max=4)


def test_advice_about_a_cron_job_follows_a_namespace_that_is_known() -> None:
    made = reviews.job(framework="none", max="5")
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    daily = {"kind": "CronJob", "metadata": {"name": "daily"}, "spec": {"jobTemplate": template}}
    _, answer = Conversation(Known(), "/advise", reviews.review(daily, namespace="lab")).answer()
    found = reviews.response(answer)
    assert found["allowed"]
    assert "above 4, the edl.dev/largest-max of namespace" in found["warnings"][0]


def test_a_defect_in_fetching_a_namespace_is_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    body = reviews.review(reviews.job(framework="none"), namespace="lab")
    status, _ = Conversation(Remembering(KeyError("metadata")), "/mutate", body).answer()
    assert status == 500
    assert "KeyError" in caplog.text


def test_a_namespace_itself_is_judged_by_its_own_words() -> None:
    policies = Remembering()
    settings = {"metadata": {"name": "lab", "annotations": {contract.LARGEST_MAX: "x"}}}
    kind = {"group": "", "version": "v1", "kind": "Namespace"}
    manifest = {"apiVersion": "v1", "kind": "Namespace", **settings}
    body = reviews.review(manifest, kind=kind, namespace="lab", name="lab")
    conversation = Conversation(policies, "/validate", body)
    _, answer = conversation.answer()
    assert reviews.response(answer)["status"]["message"] == (
        'Namespace lab: metadata.annotations[edl.dev/largest-max]: "x"; '
        "a whole number from 1 to 100000"
    )
    assert policies.threads == []
    assert 'kind="Namespace"' in conversation.metrics()
