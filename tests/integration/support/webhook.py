"""A webhook beside a real API server: called over TLS, and taken away when a test wants that."""

import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dev.installation import Installation, install, start_webhook
from edl import contract
from edl.errors import ClusterError, NotFound
from edl.kube.api.client import ApiClient, connect
from edl.model import ObjectRef
from edl.writes import Json
from manifests import render
from sandbox.cluster import Cluster
from sandbox.errors import SandboxError
from tests.temporary_namespace import temporary
from tests.waiting import until

NAME = "webhook"
UNLABELLED = ("pod", "job")
_CHANCE = (  # what differs between two equal objects
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r'"resourceVersion":"\d+"', "VERSION"),
    (r"kube-api-access-[a-z0-9]{5}", "TOKEN"),
)


@dataclass(frozen=True)
class Webhook:
    """The webhook that the API server of `cluster` calls."""

    cluster: Cluster
    installation: Installation

    @contextmanager
    def dead(self) -> Iterator[None]:
        """Nobody listens while the block runs."""
        self.cluster.kill(NAME)
        until(lambda: NAME not in self.cluster.running())
        try:
            yield
        finally:
            start_webhook(self.installation)
            self.wait_until_called()

    def wait_until_called(self) -> None:
        """The API server sees a change of its webhook configurations a moment later."""
        with closing(connect(str(self.cluster.kubeconfig))) as api:
            until(lambda: _is_completed(api, labelled("probe")))

    def restore(self) -> None:
        """Have the configurations name this webhook and its authority, whatever they said."""
        url = f"https://127.0.0.1:{self.installation.webhook_port}"
        authority = self.installation.authority.read_bytes()
        local = render.with_webhook_url(render.without_workloads(render.load()), url, authority)
        apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        self.cluster.kubectl(*apply, input=render.to_yaml(local))
        self.wait_until_called()

    def dry_run(self, manifest: Json) -> str:
        """What the API server would store, as YAML, or its refusal."""
        try:
            return self.cluster.kubectl(
                *("create", "--dry-run=server", "-o", "yaml", "-f", "-"), input=json.dumps(manifest)
            )
        except SandboxError as error:
            return str(error)

    def metrics(self) -> str:
        url = f"http://127.0.0.1:{self.installation.probe_port}/metrics"
        with urllib.request.urlopen(url) as answer:
            text: bytes = answer.read()
        return text.decode()

    def reviews(self) -> float:
        """How many reviews it has answered since it was started."""
        lines = self.metrics().splitlines()
        counted = (line for line in lines if line.startswith("edl_webhook_reviews_total"))
        return sum(float(line.rsplit(" ", 1)[1]) for line in counted)


def _is_completed(api: ApiClient, job: Json) -> bool:
    """Whether the API server would store the Job as the webhook completes it."""
    target = ObjectRef("Job", job["metadata"]["namespace"], job["metadata"]["name"])
    try:
        return bool(api.create(target, job, dry_run=True)["spec"]["suspend"])
    except ClusterError:
        return False


@contextmanager
def beside(cluster: Cluster, folder: Path) -> Iterator[Webhook]:
    """Install the configurations and a webhook process; the cluster is asked to call it."""
    webhook = Webhook(cluster, install(cluster, folder, reconcilers=()))
    webhook.wait_until_called()
    yield webhook


def labelled(name: str, namespace: str = "default", **labels: str) -> Json:
    """A Job that is ours; `labels` without their prefix, framework none unless they say."""
    named = {"framework": "none"} | labels
    job = plain(name, namespace)
    job["metadata"]["labels"] = {f"edl.dev/{label}": value for label, value in named.items()}
    return job


def plain(name: str, namespace: str = "default") -> Json:
    """A Job that is not ours."""
    container = {"name": "main", "image": "none", "command": ["train"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"parallelism": 1, "template": template},
    }


def pod(name: str, **labels: str) -> Json:
    """A bare pod, ours only with labels."""
    named = {f"edl.dev/{label}": value for label, value in labels.items()}
    metadata = {"name": name, "labels": named} if named else {"name": name}
    spec = {"containers": [{"name": "main", "image": "none"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def stored(cluster: Cluster, kind: str) -> str:
    """The API server's very answer to the creation of an unlabelled object, chance taken out."""
    with temporary(cluster) as namespace:
        manifest = plain("mnist", namespace) if kind == "job" else pod("mnist")
        api = "/apis/batch/v1" if kind == "job" else "/api/v1"
        path = f"{api}/namespaces/{namespace}/{kind}s"
        text = cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(manifest))
        text = text.replace(namespace, "NAMESPACE")
    for pattern, word in _CHANCE:
        text = re.sub(pattern, word, text)
    return text


def read(cluster: Cluster, target: ObjectRef) -> Json:
    """An object as the API server has it; raises NotFound."""
    return connect(str(cluster.kubeconfig)).get(target)


def emptied(webhook: Webhook, *secrets: ObjectRef) -> None:
    """Tests share a cluster: Secrets may hold the certificates of a test before this one."""
    api = connect(str(webhook.cluster.kubeconfig))
    for secret in secrets:
        with suppress(NotFound):
            api.patch(secret, {"data": None})


def as_account(
    cluster: Cluster, account: str, folder: Path, namespace: str = contract.SYSTEM_NAMESPACE
) -> Path:
    """A kubeconfig with the rights of a ServiceAccount, and no others, in its namespace."""
    token = cluster.kubectl("create", "token", account, "-n", namespace).strip()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "it",
                "cluster": {"server": cluster.server, "certificate-authority": str(cluster.ca)},
            }
        ],
        "users": [{"name": "it", "user": {"token": token}}],
        "contexts": [
            {"name": "it", "context": {"cluster": "it", "user": "it", "namespace": namespace}}
        ],
        "current-context": "it",
    }
    path = folder / f"{account}.kubeconfig"
    path.write_text(json.dumps(config))  # JSON is YAML
    return path
