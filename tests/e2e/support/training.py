"""One namespace of a cluster whose pods really train, as the e2e tests speak of it."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import yaml

from edl import contract
from edl.writes import Json
from sandbox.cluster import Cluster
from tests.e2e.support import ledger
from tests.e2e.support.claims import claim_files
from tests.e2e.support.commands import Commands
from tests.e2e.support.install import load_images
from tests.integration.support.stage import Stage
from tests.temporary_namespace import temporary

EXAMPLES = Path("examples")
NOTHING_HELD: Mapping[str, int] = MappingProxyType({})


class Training(Stage):
    """A Stage with real pods: their files, their processes, and the plugin."""

    within = 240.0
    pauses = (0.2, 1.0)

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster, namespace)
        self._commands = Commands(cluster, namespace)
        self._claims = claim_files(cluster, namespace, self._commands)

    def example(
        self,
        name: str,
        steps: int,
        pace: float = 0.1,
        file: str = "job.yaml",
        held: Mapping[str, int] = NOTHING_HELD,
    ) -> None:
        """Apply examples/NAME as it stands, but for its length: steps, and seconds a step.

        `held` are Jobs' sizes by hand from the first moment, and are waited for: a size given later
        may find many steps made already.
        """
        text = (EXAMPLES / name / file).read_text()
        load_images(self.cluster, text)
        length = {"EDL_STEPS": str(steps), "EDL_STEP_SECONDS": str(pace)}
        documents = [_with_env(document, length) for document in yaml.safe_load_all(text)]
        self.apply(*(with_size(document, held) for document in documents))
        for job, size in held.items():
            self.until_runs(job, size)

    def edl(self, *args: str) -> str:
        """`kubectl edl ARGS` in this namespace."""
        command = [sys.executable, "-m", "kubectl_edl", *args, "-n", self.namespace]
        environ = self.cluster.kubectl_environment()
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def scale(self, job: str, size: int) -> None:
        """Hold a size by hand, and wait until so many pods run."""
        self.edl("scale", job, str(size))
        self.until_runs(job, size)

    def until_trained(self, claim: str, world: int, known: frozenset[str] = frozenset()) -> None:
        """Until a world of this size has made 20 further steps, by the ledgers of a claim.

        Ledgers that are `known` do not count: those of processes that are to end.
        """
        begin = time.time()

        def trained() -> bool:
            steps = ledger.read(self.files(claim, "ledger/*"))
            new = (step for step in steps if step.time > begin and step.file not in known)
            return sum(step.world == world for step in new) >= 20

        self.until(trained, f"20 more steps by {world}")

    def files(self, claim: str, pattern: str) -> dict[str, str]:
        """The files of a PersistentVolumeClaim that match (such as `ledger/*`), by their names."""
        return self._claims.read(claim, pattern)

    def exec(self, pod: str, *command: str) -> str:
        """What a command in the first container of a pod prints."""
        spec = self.api.get(self._target("Pod", pod))["spec"]
        return self._commands.run(pod, spec["containers"][0]["name"], *command)

    def pod_name(self, job: str, index: int = 0) -> str:
        return str(self.pod(job, index)["metadata"]["name"])

    def kill_process(self, job: str, index: int, pattern: str) -> None:
        """SIGKILL the processes of a pod whose command line holds `pattern`.

        From inside, by a shell, which is all that images have in common. The kernel shields process
        1 of a container from that: `kill_container` ends the whole container.
        """
        script = (
            "for p in /proc/[0-9]*; do "
            f"tr '\\0' ' ' < $p/cmdline | grep -q -- '{pattern}' "
            '&& [ "${p#/proc/}" != $$ ] && [ "${p#/proc/}" != 1 ] && kill -9 "${p#/proc/}"; '
            "done; true"
        )
        self.exec(self.pod_name(job, index), "sh", "-c", script)

    def delete_pod(self, job: str, index: int, *, at_once: bool = True) -> None:
        """Delete one pod, with SIGKILL at once or with its grace period."""
        grace = ("--grace-period=0", "--force") if at_once else ()
        self.kubectl("delete", "pod", self.pod_name(job, index), "--wait=false", *grace)

    def delete_all_pods(self) -> None:
        """Every pod of every Job at once, without grace."""
        selector = f"-l={contract.JOB_NAME_LABEL}"
        self.kubectl("delete", "pods", selector, "--grace-period=0", "--force", "--wait=false")

    def restarts(self, job: str) -> dict[str, int]:
        """Container restarts by pod name."""
        return {
            pod["metadata"]["name"]: sum(
                status["restartCount"] for status in pod["status"].get("containerStatuses", ())
            )
            for pod in self.pods(job)
        }

    def leftovers(self) -> list[str]:
        """What stands in the namespace that is ours: Services, budgets, accounts, rights."""
        owned = "services,poddisruptionbudgets,serviceaccounts,rolebindings"
        label = f"-l=app.kubernetes.io/managed-by={contract.MANAGED_BY}"
        return self.kubectl("get", owned, label, "-o", "name").split()


def _with_env(document: Json, variables: dict[str, str]) -> Json:
    """A Job whose containers have these variables; anything else as it is."""
    if document["kind"] == "Job":
        for container in document["spec"]["template"]["spec"]["containers"]:
            kept = [e for e in container.get("env", ()) if e["name"] not in variables]
            added = [{"name": name, "value": value} for name, value in variables.items()]
            container["env"] = kept + added
    return document


def with_size(document: Json, sizes: Mapping[str, int]) -> Json:
    """A Job that has a size by hand, if one is named for it; anything else as it is."""
    metadata = document["metadata"]
    if document["kind"] == "Job" and metadata["name"] in sizes:
        held = {contract.REPLICAS: str(sizes[metadata["name"]])}
        metadata["annotations"] = metadata.get("annotations", {}) | held
    return document


@contextmanager
def training_in(cluster: Cluster) -> Iterator[Training]:
    """A namespace in which launchers may exec; its pods are gone when the next test begins."""
    with temporary(cluster) as namespace:
        cluster.kubectl("label", "namespace", namespace, f"{contract.KUBEXEC}={contract.ENABLED}")
        made = Training(cluster, namespace)
        yield made
        made.kubectl("delete", "jobs,deployments", "--all")
        made.kubectl("delete", "pods", "--all", "--wait=false", "--grace-period=1")
        made.until(lambda: not made.all("Pod"), "every pod of the test is gone")
