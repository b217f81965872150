"""A cluster in memory with training jobs on it, and the plugin in front of it."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from edl import contract
from edl.errors import NotFound
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.kube.cluster import Cluster, ListOptions, PluginCluster
from edl.model import ObjectRef
from edl.planner.published_settings import Settings, render
from edl.writes import Json
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.root import CLI, COMMANDS
from kubectl_edl.main import run
from tests.fake_cluster.cluster import FakeCluster

WITHIN = 60.0
"""Seconds after which a wait for another thread fails, on a machine of any load."""
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
_CONTEXT = Context(frozenset(), "kubectl-edl:test")


def codes_in_help(args: Sequence[str]) -> set[int]:
    """The exit codes at the end of the help of a command line, or of the group that it names."""
    names = [CLI.renamed.get(one, one) for one in args]
    name = next((one for one in names if one in COMMANDS), "")
    command = CLI.get_command(click.Context(CLI), name) or CLI
    return {int(code) for code in re.findall(r"(?:codes:|,) ([0-9]+) ", command.epilog or "")}


@dataclass(frozen=True)
class Run:
    """The result of one command line."""

    code: int
    out: str
    err: str


@dataclass
class Stage:
    """A cluster in memory; `wrapped` may wrap it for the plugin."""

    minutes_ago: float = 5
    namespace: str = "default"
    width: int | None = None
    height: int | None = None
    unicode: bool = True
    coloured: bool = False
    answers: str | None = None
    """What the user types; None without a terminal."""
    between: list[Callable[[], object]] = field(default_factory=list)
    """Actions before each further read of `--watch`."""
    wrapped: Callable[[PluginCluster], PluginCluster] = lambda cluster: cluster
    now: list[datetime] = field(default_factory=lambda: [NOW])
    """The times of the clock in order; the last one is repeated."""
    sleep: Callable[[float], None] = lambda _: None
    """Actions while the plugin waits."""
    deadlines: tuple[timedelta, ...] = ()
    """The deadlines of the last command that waited."""
    kubectl_code: int = 0
    kubectl_calls: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    """Calls of kubectl: arguments and standard input."""
    during_kubectl: list[Callable[[], object]] = field(default_factory=list)
    """Actions of other clients, one during each call."""

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(lambda: NOW - timedelta(minutes=self.minutes_ago))
        lease(self)

    def put(self, manifest: Json, **spec: object) -> Json:
        """Create it as the webhook would let it, with `spec` changed afterwards."""
        done = mutate(AdmissionRequest("CREATE", manifest, None, "user"), _CONTEXT).manifest
        done["spec"] |= spec
        return self.create(done)

    def create(self, manifest: Json) -> Json:
        namespace = manifest["metadata"].get("namespace", self.namespace)
        target = ObjectRef(manifest["kind"], namespace, manifest["metadata"]["name"])
        return self.cluster.create(target, manifest)

    def patch(self, name: str, body: Json, kind: str = "Job") -> Json:
        return self.cluster.patch(ObjectRef(kind, self.namespace, name), body)

    def delete(self, name: str, kind: str = "Job") -> None:
        self.cluster.delete(ObjectRef(kind, self.namespace, name))

    def job(self, name: str) -> Json:
        return self.cluster.get(ObjectRef("Job", self.namespace, name))

    def run(self, *args: str, environ: dict[str, str] | None = None) -> Run:
        cli = self.cli()
        code = run(args, cli, environ or {})
        assert code in codes_in_help(args), "the command's help lists each of its exit codes"
        return Run(code, _text(cli.out), _text(cli.err))

    def cli(self) -> CliContext:
        return CliContext(
            out=io.StringIO(),
            err=io.StringIO(),
            stdin=_Terminal(self.answers) if self.answers is not None else io.StringIO(),
            now=self._clock,
            sleep=self.sleep,
            connect=self._connect,
            changes=self._changes,
            watched=lambda cluster, _: cluster,
            width=self.width,
            size=self._size if self.height else None,
            unicode=self.unicode,
            coloured=self.coloured,
            kubectl=self._kubectl,
            patience=WITHIN,
        )

    def _size(self) -> tuple[int, int]:
        assert self.width is not None
        assert self.height is not None
        return self.width, self.height

    def _clock(self) -> datetime:
        return self.now.pop(0) if len(self.now) > 1 else self.now[0]

    def _kubectl(self, arguments: Sequence[str], text: str) -> int:
        for action in self.during_kubectl[:1]:
            self.during_kubectl.remove(action)
            action()
        self.kubectl_calls.append((tuple(arguments), text))
        return self.kubectl_code

    def _connect(self, scope: Scope) -> ClusterConnection:
        namespace = "" if scope.all_namespaces else scope.namespace or self.namespace
        return ClusterConnection(self.wrapped(self.cluster), namespace, "https://cluster", scope)

    def _changes(
        self, cluster: Cluster, selection: ListOptions, deadlines: Sequence[timedelta] = ()
    ) -> Iterator[None]:
        assert cluster is not None
        self.deadlines = tuple(deadlines)
        assert selection.kind == "Event" or selection.labels == contract.FRAMEWORK
        for happen in self.between:
            happen()
            yield


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def job(name: str, **labels: str) -> Json:
    """A user's Job with `edl.dev/` labels: `job("mnist", framework="none", min="1", max="4")`."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": {f"{contract.PREFIX}{label}": value for label, value in labels.items()},
        },
        "spec": {"parallelism": 1, "template": {"spec": pod_spec()}},
    }


def pod_spec() -> Json:
    return {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "train", "resources": {"requests": {"cpu": "2"}}}],
    }


def role_manifests(name: str = "mnist", roles: str = "chief=1,ps=2,worker=1..12") -> list[Json]:
    """A TensorFlow training job: one Job a role."""
    manifests = []
    for role in (part.split("=")[0] for part in roles.split(",")):
        manifest = job(f"{name}-{role}", framework="tensorflow", job=name, role=role)
        manifest["metadata"]["annotations"] = {contract.ROLES: roles}
        manifests.append(manifest)
    return manifests


def pod(owner: Json, index: int, node: str = "node-1", **status: Any) -> Json:  # noqa: ANN401 - JSON
    """A pod of a stored Job; running and ready unless `status` is given."""
    metadata = owner["metadata"]
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-{index}-x{index}",
            "namespace": metadata["namespace"],
            "labels": {
                contract.FRAMEWORK: metadata["labels"][contract.FRAMEWORK],
                contract.JOB_NAME_LABEL: metadata["name"],
            },
            "annotations": {contract.COMPLETION_INDEX_ANNOTATION: str(index)},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                    "controller": True,
                }
            ],
        },
        "spec": {
            **pod_spec(),
            "terminationGracePeriodSeconds": 0,
            **({"nodeName": node} if node else {}),
        },
        "status": ready | status,
    }


def node(name: str, cpu: str = "16", **labels: str) -> Json:
    """Labels are those of `example.com`: `rack="r1"`."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {f"example.com/{label}": value for label, value in labels.items()},
        },
        "spec": {},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def quota(*resources: str) -> Json:
    """A ResourceQuota with much room, of `requests.cpu` and the like."""
    hard = dict.fromkeys(resources, "1000")
    used = dict.fromkeys(resources, "0")
    return {
        "kind": "ResourceQuota",
        "metadata": {"name": "compute"},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": used},
    }


def limit_range(**requests: str) -> Json:
    """Default requests of containers."""
    limits = [{"type": "Container", "defaultRequest": requests}]
    return {"kind": "LimitRange", "metadata": {"name": "usual"}, "spec": {"limits": limits}}


def event(
    about: str, reason: str, message: str, *, minutes_ago: float, warning: bool = False
) -> Json:
    moment = (NOW - timedelta(minutes=minutes_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about}.{reason.lower()}"},
        "involvedObject": {"kind": "Job", "name": about},
        "reason": reason,
        "message": message,
        "type": "Warning" if warning else "Normal",
        "count": 1,
        "lastTimestamp": moment,
    }


def mnist(stage: Stage, workers: int = 4) -> None:
    """A running TensorFlow job with one worker that is still pending."""
    chief, servers, worker = (
        stage.put(manifest, suspend=False, parallelism=size, completions=size)
        for manifest, size in zip(role_manifests(), (1, 2, workers), strict=True)
    )
    stage.create(pod(chief, 0))
    for index in range(2):
        stage.create(pod(servers, index))
    for index in range(workers):
        pending: Json = {"phase": "Pending", "conditions": []} if index == workers - 1 else {}
        stage.create(pod(worker, index, "" if pending else f"node-{index % 2 + 1}", **pending))
    stage.patch(
        "mnist-worker",
        {
            "metadata": {
                "annotations": {
                    contract.REASON: "IdleCapacity",
                    contract.MESSAGE: "idle capacity: 4 of 12 fit",
                }
            }
        },
    )


def lease(stage: Stage, text: str = "", *, minutes_ago: float = 0) -> None:
    """A reconciler that says how it decides, and renewed its Lease so long ago.

    Every stage has one that renewed it now.
    """
    renewed = (NOW - timedelta(minutes=minutes_ago)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    target = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
    notes = {contract.SETTINGS: text or render(Settings())}
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": renewed}
    metadata = {"name": target.name, "annotations": notes}
    with suppress(NotFound):
        stage.cluster.delete(target)
    stage.cluster.create(target, {"metadata": metadata, "spec": spec})


def _text(stream: object) -> str:
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()
