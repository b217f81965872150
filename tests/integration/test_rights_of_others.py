"""No right of the webhook, of a launcher or of peers is idle; `test_rights` is the reconciler's."""

import itertools
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
import yaml

from certs.secrets import ensure, usual
from edl import contract
from edl.errors import Forbidden
from edl.frameworks.scripts import KUBEXEC
from edl.kube.api.client import connect
from edl.model import ObjectRef
from edl.writes import Json
from manifests import installation, render
from manifests.values import Values
from sandbox import Sandbox, temporary_sandbox
from tests.fake_cluster.cluster import FakeCluster
from tests.integration.conftest import NODES
from tests.integration.support.rights import Grant, Noted, await_effect, grants, without
from tests.integration.support.stage import Stage, stage
from tests.integration.support.webhook import as_account
from tests.waiting import until
from webhook.namespace_policies import WatchedPolicies
from webhook.tls.serving_certificate import of_secret

pytestmark = pytest.mark.integration

MANIFESTS = render.without_workloads(render.load())
WEBHOOK = grants(MANIFESTS, "edl-webhook")
ACCOUNT = f"{contract.SYSTEM_NAMESPACE}:edl-webhook"
FOLLOWED = [grant for grant in WEBHOOK if grant.resource == "namespaces"]
KEPT = [grant for grant in WEBHOOK if grant not in FOLLOWED]
LAUNCHER = grants(MANIFESTS, contract.LAUNCHER_CLUSTER_ROLE)
PEERS = grants(MANIFESTS, contract.PEERS_CLUSTER_ROLE)
SETTINGS = "edl-reconciler-settings"
POD = "ring-worker-1-x2x4z"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A cluster with our rights and configurations, whose webhook nobody runs yet."""
    with temporary_sandbox("rights-of-others", NODES) as sandbox:
        apply(sandbox)
        folder = tmp_path_factory.mktemp("accounts")
        path = as_account(sandbox, "edl-webhook", folder)
        sandbox.folder.joinpath("account").write_text(str(path))
        yield sandbox


def apply(room: Sandbox) -> None:
    """As an installation does it: the Secret is empty, and nobody is trusted."""
    apply_all(room, MANIFESTS)


def apply_all(room: Sandbox, documents: Sequence[Json]) -> None:
    server_side = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    room.kubectl(*server_side, input=yaml.safe_dump_all(documents))


@pytest.fixture
def account(room: Sandbox) -> Noted:
    """The API server as the webhook's ServiceAccount meets it."""
    return Noted(connect(room.folder.joinpath("account").read_text()))


# -- the webhook -----------------------------------------------------------------------------------


@pytest.mark.parametrize("grant", KEPT, ids=str)
def test_its_certificate_is_read(room: Sandbox, account: Noted, grant: Grant) -> None:
    source, now = partial(of_secret, account, usual().serving), datetime.now(UTC)
    installed = ensure(connect(str(room.kubeconfig)), usual(), now)
    with without(room, grant, ACCOUNT), pytest.raises(Forbidden):
        source()
    assert account.refused == {grant.asked}
    assert source() == installed.pair


@pytest.mark.parametrize("grant", FOLLOWED, ids=str)
def test_what_namespaces_say_is_known(room: Sandbox, account: Noted, grant: Grant) -> None:
    if grant.verb == "get":
        # One that the watch has not brought yet, as it follows an empty cluster.
        seconds = itertools.count(step=60)
        policies = WatchedPolicies(
            FakeCluster(lambda: datetime.now(UTC)), account, lambda: next(seconds)
        )
        policies.start()
        until(lambda: not policies.problem(), "the empty list is read")
        with without(room, grant, ACCOUNT), pytest.raises(Forbidden):
            policies.fetch("default")
        assert account.refused == {grant.asked}
        assert policies.fetch("default") == policies.known("default")
        policies.stop()
        return
    with without(room, grant, ACCOUNT):
        policies = WatchedPolicies(account, account)
        policies.start()
        until(lambda: grant.asked in account.refused, f"{grant} is refused")
        assert grant.asked not in account.allowed
    until(lambda: grant.asked in account.allowed, f"{grant} is allowed")
    until(lambda: not policies.problem(), "namespaces are known")
    policies.stop()


# -- the reconciler's settings ---------------------------------------------------------------------


def test_only_the_chosen_groups_read_the_reconcilers_lease(room: Sandbox) -> None:
    assert not reads_lease(room, "research"), "by default no group does"
    values = Values(settings_readers=("research",))
    added = [one for one in installation.documents(values) if one["metadata"]["name"] == SETTINGS]
    assert [one["kind"] for one in added] == ["Role", "RoleBinding"]
    apply_all(room, added)
    until(lambda: reads_lease(room, "research"), "the group reads it")
    assert not reads_lease(room, "others")
    assert not reads_lease(room, "research", verb="patch")


def reads_lease(room: Sandbox, group: str, verb: str = "get") -> bool:
    lease = {
        "verb": verb,
        "group": "coordination.k8s.io",
        "resource": "leases",
        "name": contract.RECONCILER_LEASE,
        "namespace": contract.SYSTEM_NAMESPACE,
    }
    user = {"user": "ann", "groups": [group, "system:authenticated"]}
    review = {"spec": user | {"resourceAttributes": lease}}
    api = connect(str(room.kubeconfig))
    answer = api.create(ObjectRef("SubjectAccessReview", "", ""), review)
    return bool(answer["status"].get("allowed"))


# -- what runs in namespaces of users --------------------------------------------------------------


@dataclass(frozen=True)
class Guest:
    """A training job's pod in a namespace with a worker, as the script in it meets the cluster."""

    at: Stage
    folder: Path

    def given(self, role: str) -> Path:
        """A kubeconfig of an account of its own with a ClusterRole of ours, as pods have it."""
        self.at.kubectl("create", "serviceaccount", role)
        account = f"--serviceaccount={self.account(role)}"
        self.at.kubectl("create", "rolebinding", role, f"--clusterrole={role}", account)
        for grant in grants(MANIFESTS, role):
            await_effect(
                self.at.cluster, grant, self.account(role), self.at.namespace, allowed=True
            )
        return as_account(self.at.cluster, role, self.folder, self.at.namespace)

    def account(self, role: str) -> str:
        return f"{self.at.namespace}:{role}"

    @contextmanager
    def without(self, grant: Grant) -> Iterator[None]:
        """All that the role gives it but this."""
        at = self.at.namespace
        with without(self.at.cluster, grant, self.account(grant.role), at):
            yield

    def kubexec(self) -> str:
        """What the launcher's script says when it runs a command in the simulated worker."""
        script = KUBEXEC.replace(contract.KUBECTL_DIRECTORY, str(self.folder))
        # It would wait for an API server that is away.
        once = script.replace("for pause in 1 2 4 8 0", "for pause in 0")
        return self._run("/bin/sh", "-c", once, "kubexec.sh", "ring-worker-1", "true")

    def kubectl(self, *words: str) -> str:
        return self._run(str(self.folder / "kubectl"), *words)

    def _run(self, *command: str) -> str:
        environ = os.environ | {"KUBECONFIG": str(self.folder / "kubeconfig")}
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=60, check=False
        )
        return done.stdout + done.stderr


@pytest.fixture
def guest(room: Sandbox, tmp_path: Path) -> Iterator[Guest]:
    with stage(room) as at:
        labels = {
            contract.JOB_NAME_LABEL: "ring-worker",
            contract.COMPLETION_INDEX_ANNOTATION: "1",
        }
        at.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": POD, "labels": labels},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            }
        )
        at.until(lambda: at.all("Pod")[0]["status"].get("phase") == "Running", "it runs")
        (tmp_path / "kubectl").symlink_to(room.kubectl_path)
        yield Guest(at, tmp_path)


FOUND = "node-"
"""Everything was allowed: the API server looks for the simulated node, where nobody answers."""
OVER_SPDY = "error dialing backend"
ASKS_FOR_BOTH = "AuthorizePodWebsocketUpgradeCreatePermission"
"""The feature of the API server that has `create`, too, decide on a WebSocket, which is a GET."""
WITHOUT_LAUNCHERS: dict[str, str] = {
    "get-pods": 'cannot get resource "pods"',
    "list-pods": 'cannot list resource "pods"',
    "create-pods-exec": 'cannot create resource "pods/exec"',
    # kubectl asks for a WebSocket first, by GET. Refused, it goes on by POST over SPDY, which is
    # deprecated: nothing is gained without the right, which gives nothing that `create` does not.
    "get-pods-exec": OVER_SPDY,
}
"""For each right, what is said without it."""


def test_every_right_of_a_launcher_is_in_the_next_test() -> None:
    assert sorted(map(str, LAUNCHER)) == sorted(WITHOUT_LAUNCHERS)


def _asks_for_both(guest: Guest) -> bool:
    return f'name="{ASKS_FOR_BOTH}"' in guest.at.kubectl("get", "--raw", "/metrics")


@pytest.mark.parametrize("grant", LAUNCHER, ids=str)
def test_a_launcher_needs_each_of_its_rights(guest: Guest, grant: Grant) -> None:
    guest.given(contract.LAUNCHER_CLUSTER_ROLE).rename(guest.folder / "kubeconfig")
    with guest.without(grant):
        refused = guest.kubexec()
    if str(grant) == "create-pods-exec" and FOUND in refused and not _asks_for_both(guest):
        pytest.skip("this API server takes `get` of pods/exec for enough")
    assert WITHOUT_LAUNCHERS[str(grant)] in refused
    assert (FOUND in refused) == (str(grant) == "get-pods-exec")
    whole = guest.kubexec()
    assert FOUND in whole
    assert OVER_SPDY not in whole
    assert "orbidden" not in whole


def test_a_launcher_reads_no_secret_and_changes_nothing(guest: Guest) -> None:
    guest.given(contract.LAUNCHER_CLUSTER_ROLE).rename(guest.folder / "kubeconfig")
    for words in (("get", "secrets"), ("delete", "pod", POD), ("get", "pods", "-n", "default")):
        assert "Forbidden" in guest.kubectl(*words)


@pytest.mark.parametrize("grant", PEERS, ids=str)
def test_peers_list_pods_and_no_more(guest: Guest, grant: Grant) -> None:
    """As PaddlePaddle's older images do, by labels."""
    guest.given(contract.PEERS_CLUSTER_ROLE).rename(guest.folder / "kubeconfig")
    look = ("get", "pods", "--selector", f"{contract.JOB_NAME_LABEL}=ring-worker")
    with guest.without(grant):
        assert 'cannot list resource "pods"' in guest.kubectl(*look)
    assert POD in guest.kubectl(*look)
    assert "Forbidden" in guest.kubectl("get", "secrets")
    assert "Forbidden" in guest.kubectl("exec", POD, "--", "true")


@pytest.mark.parametrize(("role", "into"), [("edl-viewer", "view"), ("edl-editor", "edit")])
def test_kubernetes_adds_what_users_may_do_to_its_own_roles(
    room: Sandbox, role: str, into: str
) -> None:
    def rules(name: str) -> list[Json]:
        found: list[Json] = json.loads(room.kubectl("get", "clusterrole", name, "-o=json"))["rules"]
        return found

    ours = rules(role)
    assert ours
    until(lambda: all(rule in rules(into) for rule in ours), f"{into} has all of {role}")
