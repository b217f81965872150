"""One namespace of a cluster where kubectl-edl runs, as the tests of elasticity speak of it."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from edl import contract
from edl.errors import NotFound
from edl.kube.api.client import connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json
from sandbox.cluster import Cluster
from sandbox.errors import SandboxError
from tests.integration.support.first_apply import FirstApply
from tests.temporary_namespace import temporary
from tests.waiting import PAUSES, pause_after

WITHIN = 120.0  # seconds until a test gives up: many lanes may run beside it
INDEX = contract.COMPLETION_INDEX_ANNOTATION


class Stage:
    """Jobs, pods and services of one namespace; reads are always fresh."""

    within = WITHIN
    pauses = PAUSES
    """Seconds between two looks: the first ones, and those after some seconds of waiting."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.api = connect(str(cluster.kubeconfig))
        self._first_apply = FirstApply(cluster.kubeconfig, namespace)

    # -- what tests do -----------------------------------------------------------------------------

    def apply(self, *manifests: Json, flags: Sequence[str] = ()) -> str:
        """kubectl apply, as users do it; what it printed, nothing for objects that are new."""
        if not flags and all(map(self._first_apply, manifests)):
            return ""
        return self.kubectl("apply", *flags, "-f", "-", text=_documents(manifests))

    def refused(self, *manifests: Json) -> str:
        """The message with which the API server refuses to create them."""
        try:
            stored = self.kubectl("create", "-f", "-", text=_documents(manifests))
        except SandboxError as error:
            return str(error)
        raise AssertionError(f"it was accepted: {stored}")

    def kubectl(self, *args: str, text: str | None = None) -> str:
        return self.cluster.kubectl("-n", self.namespace, *args, input=text)

    def kubectl_warnings(self, *args: str) -> str:
        """What kubectl says on stderr of a command that succeeds: the API server's warnings."""
        done = self._run(*args)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def kubectl_refused(self, *args: str) -> str:
        done = self._run(*args)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def _run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.cluster.kubectl_path, "-n", self.namespace, *args],
            env=self.cluster.kubectl_environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def annotate(self, job: str, **annotations: str | None) -> None:
        """Set (None: remove) annotations of a Job by the contract's words, as the plugin does."""
        named = {
            contract.PREFIX + name.replace("_", "-"): text for name, text in annotations.items()
        }
        self.api.patch(self._target("Job", job), {"metadata": {"annotations": named}})

    def label_node(self, name: str, label: str, value: str | None) -> None:
        """None removes the label."""
        change = {"metadata": {"labels": {label: value}}}
        self.api.patch(ObjectRef("Node", "", name), change)

    def complete(self, job: str, index: int = 0, code: int = 0) -> None:
        """Let one simulated pod end."""
        pod = self.pod(job, index)["metadata"]["name"]
        simulated = {
            "sandbox.edl.dev/complete-after": "1ms",
            "sandbox.edl.dev/exit-code": str(code),
        }
        self.api.patch(self._target("Pod", pod), {"metadata": {"annotations": simulated}})

    def delete_all(self, kind: str) -> None:
        """What is there now; somebody may have been faster."""
        for one in self.all(kind):
            with suppress(NotFound):
                self.api.delete(self._target(kind, one["metadata"]["name"]))

    # -- what tests see ----------------------------------------------------------------------------

    def job(self, name: str) -> Json:
        return self.api.get(self._target("Job", name))

    def exists(self, kind: str, name: str) -> bool:
        try:
            self.api.get(self._target(kind, name))
        except NotFound:
            return False
        return True

    def all(self, kind: str) -> list[Json]:
        return self._listed(ListOptions(kind, self.namespace))

    def cluster_wide(self, kind: str) -> list[Json]:
        return self._listed(ListOptions(kind))

    def _listed(self, selection: ListOptions) -> list[Json]:
        return [json.loads(item) for item in self.api.list(selection).items]

    def pods(self, job: str) -> list[Json]:
        """The live pods of a Job, in order of their indexes."""
        live = [pod for pod in self.all("Pod") if "deletionTimestamp" not in pod["metadata"]]
        mine = [pod for pod in live if _labels(pod).get(contract.JOB_NAME_LABEL) == job]
        return sorted(mine, key=lambda pod: int(_labels(pod).get(INDEX, 0)))

    def pod(self, job: str, index: int) -> Json:
        return next(pod for pod in self.pods(job) if _labels(pod).get(INDEX) == str(index))

    def running(self, job: str) -> int:
        return sum(pod["status"].get("phase") == "Running" for pod in self.pods(job))

    def size(self, job: str) -> int:
        """`spec.parallelism`, 0 while suspended."""
        spec = self.job(job)["spec"]
        return 0 if spec.get("suspend") else int(spec["parallelism"])

    def message(self, job: str) -> str:
        """Why a Job has its size, or why it waits."""
        return str(self.job(job)["metadata"].get("annotations", {}).get(contract.MESSAGE, ""))

    def reason(self, job: str) -> str:
        """The code of that."""
        return str(self.job(job)["metadata"].get("annotations", {}).get(contract.REASON, ""))

    def uids(self, job: str) -> dict[str, str]:
        """Pod UIDs by index; where one has ended and another took over, the other's."""
        pods = sorted(self.pods(job), key=lambda pod: pod["status"]["phase"] != "Failed")
        return {_labels(pod)[INDEX]: pod["metadata"]["uid"] for pod in pods}

    def is_complete(self, job: str) -> bool:
        conditions = self.job(job).get("status", {}).get("conditions", ())
        return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)

    def hosts(self, launcher: str) -> list[str]:
        """The first names of the hosts that a launcher reads; none before it exists."""
        notes: Json = {}
        for pod in self.pods(launcher):
            notes = pod["metadata"].get("annotations", {})
        return [line.partition(".")[0] for line in notes.get(contract.HOSTFILE, "").split()]

    def preempted(self) -> list[str]:
        events = [event for event in self.all("Event") if event.get("reason") == "Preempted"]
        return [event["involvedObject"]["name"] for event in events]

    def web_running(self) -> int:
        web = [pod for pod in self.all("Pod") if _labels(pod).get("app") == "web"]
        return sum(
            pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
            for pod in web
        )

    def until(self, holds: Callable[[], Any], what: str) -> None:
        """Wait for something that comes soon; says what did not, and what stands instead."""
        begun = time.monotonic()
        while not holds():
            self.cluster.check()
            waited = time.monotonic() - begun
            if waited > self.within:
                raise AssertionError(f"it never came: {what}\n{self._picture()}")
            time.sleep(pause_after(waited, *self.pauses))

    def until_runs(self, job: str, pods: int) -> None:
        self.until(lambda: self.running(job) == pods == self.size(job), f"{job} runs {pods} pods")

    def _picture(self) -> str:
        reasons = [
            f"{job['metadata']['name']}: {self.message(job['metadata']['name'])}"
            for job in self.all("Job")
        ]
        return "\n".join([self.kubectl("get", "jobs,pods", "-o", "wide"), *reasons])

    def _target(self, kind: str, name: str) -> ObjectRef:
        return ObjectRef(kind, self.namespace, name)


@contextmanager
def stage(cluster: Cluster) -> Iterator[Stage]:
    """A namespace in which launchers may exec; its pods are gone when the next test begins."""
    with temporary(cluster) as namespace:
        made = Stage(cluster, namespace)
        allowed = {"metadata": {"labels": {contract.KUBEXEC: contract.ENABLED}}}
        made.api.patch(ObjectRef("Namespace", "", namespace), allowed)
        yield made
        # By the API, as the namespace itself: a kubectl takes longer than all of it.
        if made.all("Deployment"):
            made.kubectl("delete", "deployments", "--all")
        for kind in ("Job", "Pod"):
            made.delete_all(kind)
        made.until(lambda: not made.all("Pod"), "every pod of the test is gone")


def elastic(
    name: str,
    cpu: str = "1",
    labels: Mapping[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a manifest
) -> Json:
    """A Job with labels by the contract's words, framework none unless they say."""
    words = {"framework": "none"} | dict(labels or {})
    container: Json = {"name": "main", "image": "none", "command": ["train"]}
    container["resources"] = {"requests": {"cpu": cpu, "memory": "128Mi"}}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 5, "containers": [container]}
    named = {contract.PREFIX + word: text for word, text in words.items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": named},
        "spec": {"template": {"spec": pod | spec.pop("pod", {})}} | spec,
    }


def tensorflow(job: str, workers: str, ps: int = 1, cpu: str = "1") -> list[Json]:
    """A chief, `ps` parameter servers, and workers by their range, `1..4`."""
    all_roles = f"chief=1,ps={ps},worker={workers}"
    return role_jobs("tensorflow", job, all_roles, cpu, ps=ps)


def horovod(job: str, workers: str, cpu: str = "1") -> list[Json]:
    return role_jobs("horovod", job, f"launcher=1,worker={workers}", cpu)


def role_jobs(framework: str, job: str, all_roles: str, cpu: str = "1", **sizes: int) -> list[Json]:
    """One Job for each role."""
    roles = [part.partition("=")[0] for part in all_roles.split(",")]
    return [
        _with_roles(
            elastic(
                f"{job}-{role}",
                cpu,
                {"framework": framework, "job": job, "role": role},
                parallelism=sizes.get(role, 1),
            ),
            all_roles,
        )
        for role in roles
    ]


def web(replicas: int, cpu: str = "1", priority_class: str = "") -> Json:
    """A Deployment of somebody else."""
    container = {"name": "web", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    pod: Json = {"containers": [container]}
    if priority_class:
        pod["priorityClassName"] = priority_class
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
        },
    }


def _with_roles(job: Json, all_roles: str) -> Json:
    return job | {"metadata": job["metadata"] | {"annotations": {contract.ROLES: all_roles}}}


def _labels(manifest: Json) -> dict[str, str]:
    return dict(manifest["metadata"].get("labels", {}))


def _documents(manifests: tuple[Json, ...]) -> str:
    # A dash first: some kubectl take a stream that begins with a brace for JSON alone.
    return "".join(f"---\n{json.dumps(manifest)}\n" for manifest in manifests)
