"""No right of the reconciler is idle: without it, something that users rely on does not happen.

Each verb of its roles is taken away alone. A reconciler with the rest then asks for it, is refused,
and the thing that needs it stays undone; with the verb given back, it is done.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial

import pytest
from prometheus_client import CollectorRegistry, Gauge

from certs.secrets import CONFIGURATION, WEBHOOK_KINDS, ensure, read_pair, usual
from dev.installation import install
from edl import contract, reasons
from edl.errors import ClusterError, EdlError, Forbidden, NotFound
from edl.frameworks.base import ModeRight
from edl.kube.api.client import connect
from edl.kube.auth.access_review import AccessRight, lacking
from edl.kube.cache.team_source import TeamsReading
from edl.kube.cluster import RESOURCES, Cluster, ListOptions
from edl.kube.writer.event_recorder import write_event
from edl.kube.writer.single_writes import perform
from edl.model import (
    ClusterState,
    Code,
    JobKey,
    ObjectRef,
    ProvisionalPod,
    Provisioning,
    TrainingJob,
)
from edl.planner.decide import decide
from edl.planner.decision_limits import (
    Autoscaler,
    GrowthMode,
    Limits,
    Provisioner,
    ProvisionerSettings,
)
from edl.planner.plan import Plan, WaitingJob
from edl.planner.policies import POLICIES
from edl.planner.published_settings import Settings
from edl.writes import Action, JobEvent, Patch
from manifests import render
from reconciler.autoscaler_events import AutoscalerEvents
from reconciler.leader_election import Clocks, LeaderElector, LeaseSettings
from reconciler.manager import Manager, ProbeAddress
from reconciler.metrics.state_metrics import LastDecision
from reconciler.publication.applied_teams import AppliedTeams
from reconciler.publication.queue_insights import QueueInsights, Stopwatches
from reconciler.publication.queue_publisher import QueuePublisher
from sandbox import Sandbox, temporary_sandbox
from tests.devices import device_class
from tests.integration.conftest import NODES
from tests.integration.support.provisioning_requests import DEFINITION
from tests.integration.support.rights import OF_MODES, OF_RECONCILER, Grant, Noted, grants, without
from tests.integration.support.stage import Stage, elastic, role_jobs, stage, tensorflow
from tests.waiting import until

pytestmark = pytest.mark.integration

CLOCKS = Clocks(lambda: datetime.now(UTC), time.monotonic)
BY_REQUEST = partial(
    decide,
    policy=POLICIES["fair"],
    limits=Limits(provisioning=ProvisionerSettings(Provisioner.REQUEST)),
)
PLAN = partial(
    decide,
    policy=POLICIES["fair"],
    limits=Limits(autoscaler=Autoscaler.PRESENT, growth=GrowthMode.ANY_NODE),
)

APPLIED = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_APPLIED_CONFIG_MAP)
ACCOUNT = f"{contract.SYSTEM_NAMESPACE}:edl-reconciler"
LEASE = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
GRANTS = grants(render.load(), *OF_RECONCILER)
KEPT = grants(render.load(), "edl-reconciler-certificates")
CONFIGURATIONS = [ObjectRef(kind, "", CONFIGURATION) for kind in WEBHOOK_KINDS]
PUBLISHED = [
    grant for grant in GRANTS if grant.resource == "configmaps" and grant.name in ("", "edl-queue")
]
TEAMS = [grant for grant in GRANTS if grant.name == contract.TEAMS_APPLIED_CONFIG_MAP]
QUOTED = [grant for grant in GRANTS if grant.resource == "events" and grant.verb == "list"]
ALONE = (*PUBLISHED, *TEAMS, *QUOTED)
WATCHED = [grant for grant in GRANTS if grant.verb in ("list", "watch") and grant not in ALONE]
ELECTED = [grant for grant in GRANTS if grant.resource == "leases"]
ASKED = [
    grant
    for grant in GRANTS
    if grant.resource in ("provisioningrequests", "podtemplates")
    and grant.verb in ("create", "delete")
]
REREAD = [grant for grant in GRANTS if grant.asked in {("get", "jobs"), ("get", "pods")}]
TOLD = [grant for grant in GRANTS if grant.resource == "events" and grant.verb != "list"]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A cluster with our webhook and rights, and the kubeconfig of the reconciler's account."""
    with temporary_sandbox("rights", NODES) as sandbox:
        folder = tmp_path_factory.mktemp("installation")
        install(sandbox, folder, ())
        sandbox.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(DEFINITION))
        sandbox.folder.joinpath("account").write_text(str(folder / "reconciler.kubeconfig"))
        yield sandbox


@pytest.fixture
def account(room: Sandbox) -> Noted:
    """The API server as the reconciler's ServiceAccount meets it."""
    return Noted(connect(room.folder.joinpath("account").read_text()))


@contextmanager
def reconciler(account: Noted, decides: Callable[[ClusterState], Plan] = PLAN) -> Iterator[None]:
    """One that always leads."""
    process = Manager(account, decides, CLOCKS)
    process.start(ProbeAddress("127.0.0.1", 0))
    try:
        yield
    finally:
        process.stop()


@pytest.mark.parametrize("grant", WATCHED, ids=str)
def test_no_kind_is_listed_or_watched_without_the_grant(
    room: Sandbox, account: Noted, grant: Grant
) -> None:
    served(room, grant)
    with without(room, grant, ACCOUNT), reconciler(account):
        until(lambda: grant.asked in account.refused, f"{grant} is refused")
        assert grant.asked not in account.allowed


def test_every_kind_is_listed_and_watched_with_the_grants(room: Sandbox, account: Noted) -> None:
    asked = {grant.asked for grant in WATCHED if is_served(room, grant)}
    with reconciler(account):
        until(lambda: asked <= account.allowed, "all are allowed")


def served(room: Sandbox, grant: Grant) -> None:
    """Skip what this API server has none of."""
    if not is_served(room, grant):
        pytest.skip(f"this API server serves no {grant.resource}")


def is_served(room: Sandbox, grant: Grant) -> bool:
    kinds = {resource.plural: resource for resource in RESOURCES.values() if resource.optional}
    if optional := kinds.get(grant.resource):
        try:
            connect(str(room.kubeconfig)).list(ListOptions(optional.kind))
        except NotFound:
            return False
    return True


# -- writes: what is created, what happens then, and what is there in the end ----------------------


def _starts(at: Stage) -> Callable[[], bool]:
    at.apply(elastic("items"))
    return lambda: at.running("items") == 1


def _publishes(at: Stage) -> Callable[[], bool]:
    at.apply(*role_jobs("horovod", "ring", "launcher=1,worker=2", worker=2))
    return lambda: len(at.hosts("ring-launcher")) == 2


def _removes(at: Stage) -> Callable[[], bool]:
    at.apply(elastic("items", labels={"max": "2"}, parallelism=1, completions=9))
    at.until(lambda: at.running("items") == 2, "two run")
    gone = at.pods("items")[0]["metadata"]["name"]
    at.annotate("items", remove=gone)
    return lambda: not at.exists("Pod", gone)


def _serves(at: Stage) -> Callable[[], bool]:
    at.apply(*tensorflow("mnist", "1..2"))
    return lambda: at.exists("Service", "mnist")


def _gives_keys(at: Stage) -> Callable[[], bool]:
    jobs = role_jobs("horovod", "ring", "launcher=1,worker=2", worker=2)
    for job in jobs:
        job["metadata"]["annotations"][contract.MODE] = "ssh"
    at.apply(*jobs)
    return lambda: bool(at.all("Secret"))


def _gives_account(at: Stage) -> Callable[[], bool]:
    at.apply(*role_jobs("horovod", "ring", "launcher=1,worker=2", worker=2))
    return lambda: len(at.all("ServiceAccount")) > 1


def _binds_launcher(at: Stage) -> Callable[[], bool]:
    at.apply(*role_jobs("horovod", "ring", "launcher=1,worker=2", worker=2))
    return lambda: bool(at.all("RoleBinding"))


def _binds_peers(at: Stage) -> Callable[[], bool]:
    jobs = role_jobs("paddle", "cloud", "pserver=1,trainer=2", trainer=2)
    for job in jobs:
        job["metadata"]["annotations"][contract.MODE] = "cloud"
    at.apply(*jobs)
    return lambda: bool(at.all("RoleBinding"))


def _marks(at: Stage) -> Callable[[], bool]:
    strict = elastic("strict", labels={"max": "3", "min": "1"}, completions=9)
    strict["metadata"]["annotations"] = {contract.RESTART: contract.RestartPolicy.EXIT_CODE}
    at.apply(strict)
    at.until_runs("strict", 3)
    at.annotate("strict", replicas="1")
    return lambda: at.size("strict") == 1


def _protects(at: Stage) -> Callable[[], bool]:
    at.apply(elastic("items", labels={"min": "2", "max": "3"}, parallelism=2, completions=9))
    return lambda: bool(at.all("PodDisruptionBudget"))


def _protects_anew(at: Stage) -> Callable[[], bool]:
    at.apply(elastic("items", labels={"min": "2", "max": "3"}, parallelism=2, completions=9))
    at.until(lambda: at.exists("PodDisruptionBudget", "items-first-1"), "one is protected")
    at.kubectl("label", "job", "items", f"{contract.MIN}=3", "--overwrite")
    return lambda: not at.exists("PodDisruptionBudget", "items-first-1")


def _gives_claims(at: Stage) -> Callable[[], bool]:
    job = elastic("items", labels={"gpu": "1"})
    job["metadata"]["annotations"] = {contract.GPU_CLASS: f"{at.namespace}.example.com"}
    of = device_class(f"{at.namespace}.example.com")
    at.apply(of | {"metadata": {"name": of["metadata"]["name"]}}, job)
    return lambda: bool(at.all("ResourceClaimTemplate"))


def _asks_for_nodes(at: Stage) -> Callable[[], bool]:
    at.apply(elastic("large", cpu="1000"))
    return lambda: bool(at.all("Pod"))


Scenario = Callable[[Stage], Callable[[], bool]]
WRITES: dict[str, tuple[tuple[str, str], Scenario]] = {
    "patch-jobs": (("patch", "jobs"), _starts),
    "patch-pods": (("patch", "pods"), _publishes),
    "create-pods": (("create", "pods"), _asks_for_nodes),
    "delete-pods": (("delete", "pods"), _removes),
    "patch-pods-status": (("patch", "pods/status"), _marks),
    "create-services": (("create", "services"), _serves),
    "create-serviceaccounts": (("create", "serviceaccounts"), _gives_account),
    "create-secrets": (("create", "secrets"), _gives_keys),
    "create-poddisruptionbudgets": (("create", "poddisruptionbudgets"), _protects),
    "delete-poddisruptionbudgets": (("delete", "poddisruptionbudgets"), _protects_anew),
    "create-rolebindings": (("create", "rolebindings"), _binds_launcher),
    "create-resourceclaimtemplates": (("create", "resourceclaimtemplates"), _gives_claims),
    # Whoever may create a RoleBinding must have, or may bind, what it gives.
    "bind-clusterroles-edl-launcher": (("create", "rolebindings"), _binds_launcher),
}
"""For each right to write: what is refused without it, and a life that needs it."""


def test_every_right_is_in_one_of_these_tests() -> None:
    tested = {*map(str, WATCHED), *map(str, ELECTED), *map(str, TOLD), *WRITES}
    tested |= set(map(str, (*ALONE, *ASKED, *REREAD)))
    assert {str(grant) for grant in GRANTS} == tested


@pytest.mark.parametrize("name", WRITES)
def test_every_write_is_needed(room: Sandbox, account: Noted, name: str) -> None:
    grant = next(grant for grant in GRANTS if str(grant) == name)
    asked, scenario = WRITES[name]
    served(room, grant)
    with stage(room) as at, reconciler(account):
        with without(room, grant, ACCOUNT):
            reached = scenario(at)
            until(lambda: asked in account.refused, f"{asked} is refused")
            assert not reached()
        at.until(reached, f"it is done with {name}")


@pytest.mark.parametrize("grant", ASKED, ids=str)
def test_nodes_are_asked_for_by_requests(room: Sandbox, account: Noted, grant: Grant) -> None:
    """They are made while the job waits, and go when it is paused."""

    def there(at: Stage) -> bool:
        return bool(at.all("ProvisioningRequest") or at.all("PodTemplate"))

    with stage(room) as at, reconciler(account, BY_REQUEST):
        with without(room, grant, ACCOUNT):
            at.apply(elastic("large", cpu="1000"))
            if grant.verb == "delete":
                at.until(lambda: at.all("ProvisioningRequest"), "it asks for nodes")
                at.annotate("large", paused=contract.TRUE)
            until(lambda: grant.asked in account.refused, f"{grant} is refused")
            assert bool(at.all("ProvisioningRequest")) is (grant.verb == "delete")
        if grant.verb == "create":
            at.until(lambda: at.all("ProvisioningRequest"), "it asks for nodes")
            at.annotate("large", paused=contract.TRUE)
        at.until(lambda: not there(at), "nothing is left of what it asked with")


@pytest.mark.parametrize("grant", REREAD, ids=str)
def test_an_object_whose_status_has_changed_is_patched_nevertheless(
    room: Sandbox, account: Noted, grant: Grant
) -> None:
    with stage(room) as at:
        at.apply(elastic("items"))
        owner = connect(str(room.kubeconfig))
        target = ObjectRef("Job", at.namespace, "items")
        if grant.resource == "pods":
            with reconciler(account):
                at.until_runs("items", 1)
            target = ObjectRef("Pod", at.namespace, at.pods("items")[0]["metadata"]["name"])
        found = owner.get(target)
        relied = {"metadata": {"uid": found["metadata"]["uid"]}}
        told = {"metadata": {"annotations": {contract.MESSAGE: "told"}}}
        patch = Patch(target, found["metadata"]["resourceVersion"], told, unless_changed=relied)
        owner.patch(target, {"metadata": {"annotations": {"example.com/unknown": "newer"}}})
        with without(room, grant, ACCOUNT), pytest.raises(Forbidden):
            perform(account, patch)
        assert account.refused == {grant.asked}
        perform(account, patch)
        assert grant.asked in account.allowed


def test_work_items_need_none_of_the_rights_that_an_installation_may_withhold(
    room: Sandbox, account: Noted
) -> None:
    withheld = [one for right in ModeRight for one in OF_MODES[right]]
    given = [
        grant
        for grant in GRANTS
        if AccessRight(grant.verb, grant.resource, grant.group, name=grant.name) in withheld
    ]
    assert len(given) == len(withheld)
    with stage(room) as at, ExitStack() as stack:
        for grant in given:
            stack.enter_context(without(room, grant, ACCOUNT))
        assert lacking(account.cluster, withheld) == withheld
        with reconciler(account):
            at.apply(elastic("items", labels={"min": "2"}, parallelism=2, completions=9))
            at.until(lambda: at.running("items") == 2, "two run")
            at.until(lambda: at.exists("PodDisruptionBudget", "items-first-1"), "one is protected")
    assert not account.refused & {grant.asked for grant in given}


def test_what_it_has_itself_it_gives_without_a_right_to_bind(room: Sandbox, account: Noted) -> None:
    with stage(room) as at, reconciler(account):
        at.until(_binds_peers(at), "the rights of edl-peers are bound")
        assert account.refused == set()


@pytest.mark.parametrize("grant", ELECTED, ids=str)
def test_no_leader_is_elected_without_the_grant(
    room: Sandbox, account: Noted, grant: Grant
) -> None:
    owner = connect(str(room.kubeconfig))
    with suppress(NotFound):
        owner.delete(LEASE)
    elector = LeaderElector(account, LEASE, "a", CLOCKS, LeaseSettings())
    if grant.verb == "patch":
        assert elector.attempt()
        elector.release()
    with without(room, grant, ACCOUNT):
        assert not elector.attempt()
    assert account.refused == {grant.asked}
    assert elector.attempt()


@pytest.mark.parametrize("grant", TOLD, ids=str)
def test_an_event_is_made_and_counted_up(room: Sandbox, account: Noted, grant: Grant) -> None:
    about = ObjectRef("Job", "default", "items")
    note = JobEvent(about, f"uid-{grant}", Action.STARTED, Code.ADMITTED, "1 of 1 runs")
    now = datetime.now(UTC)
    if grant.verb != "create":
        write_event(account, note, now)
    with without(room, grant, ACCOUNT), pytest.raises(ClusterError):
        write_event(account, note, now)
    assert account.refused == {grant.asked}
    write_event(account, note, now)
    assert grant.asked in account.allowed


# -- the queue -------------------------------------------------------------------------------------


@pytest.mark.parametrize("grant", PUBLISHED, ids=str)
def test_the_queue_is_published_changed_and_taken_away(
    room: Sandbox, account: Noted, grant: Grant
) -> None:
    with stage(room) as at:
        queue, seconds = Queue(at.namespace), [0.0]

        def all_of_it() -> None:
            """Made, changed, and deleted, each at its time, by a leader that begins anew."""
            insights = QueueInsights(Settings(), Stopwatches(lambda: seconds[0]))
            publisher = QueuePublisher(
                account, lambda: queue.decided, insights, lambda _: None, lambda: seconds[0]
            )
            for jobs in (1, 2, 0):
                queue.wait(jobs)
                seconds[0] += 1000.0
                publisher.lead()

        def left() -> bool:
            return at.exists("ConfigMap", "edl-queue")

        with without(room, grant, ACCOUNT):
            all_of_it()
        assert account.refused == {grant.asked}
        assert left() == (grant.verb == "delete")
        account.refused.clear()
        all_of_it()
        assert account.refused == set()
        assert not left()
        assert grant.asked in account.allowed


class Queue:
    """What a leader decided last: so many jobs of one namespace wait."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.decided: LastDecision | None = None

    def wait(self, jobs: int) -> None:
        keys = [JobKey(self.namespace, f"job-{number}") for number in range(jobs)]
        held = tuple(
            WaitingJob(key, reasons.UNOBSERVED, place) for place, key in enumerate(keys, 1)
        )
        self.decided = LastDecision(ClusterState(datetime.now(UTC), (), ()), Plan(waiting=held))


@pytest.mark.parametrize("grant", TEAMS, ids=str)
def test_the_teams_that_are_decided_by_are_kept(
    room: Sandbox, account: Noted, grant: Grant
) -> None:
    owner = connect(str(room.kubeconfig))
    with suppress(NotFound):
        owner.delete(APPLIED)
    before = {contract.TEAMS_KEY: "teams: [{name: before}]"}
    owner.create(APPLIED, {"metadata": {"name": APPLIED.name}, "data": before})

    def kept() -> str:
        data = {contract.TEAMS_KEY: "teams: [{name: after}]"}
        reading = TeamsReading(data=data, version="1")
        gauge = Gauge("invalid", "…", registry=CollectorRegistry())
        AppliedTeams(account, lambda: reading, gauge).lead()
        return str(owner.get(APPLIED)["data"][contract.TEAMS_KEY])

    with without(room, grant, ACCOUNT):
        assert "before" in kept()
    assert account.refused == {grant.asked}
    assert "after" in kept()
    owner.delete(APPLIED)


@pytest.mark.parametrize("grant", QUOTED, ids=str)
def test_what_an_autoscaler_says_is_read(room: Sandbox, account: Noted, grant: Grant) -> None:
    now = datetime.now(UTC)
    pod = ProvisionalPod("gang-0", "uid", "worker", "", now)
    key, asked = JobKey("default", "gang"), Provisioning(pods=(pod,))
    events = AutoscalerEvents(account, lambda: None)
    events.recall(ClusterState(now, (), (TrainingJob(key, "none", (), now, provisioning=asked),)))
    with without(room, grant, ACCOUNT):
        events.lead()
        assert account.refused == {grant.asked}
    events.lead()
    assert grant.asked in account.allowed


# -- the webhook's certificate ---------------------------------------------------------------------


@pytest.fixture
def restored(room: Sandbox) -> Iterator[Cluster]:
    """The room as its owner meets it; its webhook is called again afterwards."""
    owner = connect(str(room.kubeconfig))
    before = {target: owner.get(target)["webhooks"] for target in CONFIGURATIONS}
    yield owner
    for target, webhooks in before.items():
        owner.patch(target, {"webhooks": webhooks})


@pytest.mark.parametrize("grant", KEPT, ids=str)
def test_the_webhooks_certificate_is_made_and_trusted(
    room: Sandbox, restored: Cluster, account: Noted, grant: Grant
) -> None:
    """Also where a Secret was deleted, or where nothing is trusted."""
    for target in CONFIGURATIONS:
        webhooks = restored.get(target)["webhooks"]
        for each in webhooks:
            del each["clientConfig"]["caBundle"]
        restored.patch(target, {"webhooks": webhooks})
    for secret in (usual().authority, usual().serving):
        with suppress(NotFound):
            restored.delete(secret)
    now = datetime.now(UTC)
    with without(room, grant, ACCOUNT), pytest.raises(EdlError):
        ensure(account, usual(), now)
    assert account.refused == {grant.asked}
    installed = ensure(account, usual(), now)
    assert installed.pair == read_pair(restored, usual().serving)
    assert account.refused == {grant.asked}
