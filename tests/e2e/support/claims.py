"""The files of PersistentVolumeClaims, as ledgers and checkpoints are read while pods train.

The volumes of a sandbox's node are folders of this machine and are read from there: a command in a
pod costs the machine more than a step of the training. Any other cluster is asked, through a pod
that mounts the claim.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from dev.installation import IMAGE
from sandbox import Sandbox

if TYPE_CHECKING:
    from edl.writes import Json
    from sandbox.cluster import Cluster
    from tests.e2e.support.commands import Commands

READER: Final = "reader"


class ClaimFiles(Protocol):
    """Reads the claims of one namespace."""

    def read(self, claim: str, pattern: str) -> dict[str, str]:
        """The files that match a pattern such as `ledger/*`, by their paths below the claim."""


def claim_files(cluster: Cluster, namespace: str, commands: Commands) -> ClaimFiles:
    """The cheapest way that this cluster allows."""
    if isinstance(cluster, Sandbox):
        return FolderFiles(cluster, namespace)
    return ReaderPods(cluster, namespace, commands)


class FolderFiles:
    """Claims whose volumes are folders of this machine."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._folders: dict[str, Path] = {}

    def read(self, claim: str, pattern: str) -> dict[str, str]:
        if claim not in self._folders:
            self._folders[claim] = self._folder(claim)
        folder = self._folders[claim]
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
        return {str(path.relative_to(folder)): path.read_text() for path in found}

    def _folder(self, claim: str) -> Path:
        """Waits until a volume is bound to the claim. Raises SandboxError if none comes."""
        kubectl, bound = self._cluster.kubectl, "jsonpath={.status.phase}=Bound"
        namespaced = ("-n", self._namespace)
        kubectl(*namespaced, "wait", f"pvc/{claim}", f"--for={bound}", "--timeout=60s")
        found = json.loads(kubectl(*namespaced, "get", "pvc", claim, "-o", "json"))
        volume = json.loads(kubectl("get", "pv", found["spec"]["volumeName"], "-o", "json"))
        return Path(volume["spec"]["hostPath"]["path"])


class ReaderPods:
    """Claims of any cluster; a pod shows the files of each, also when nothing else runs."""

    def __init__(self, cluster: Cluster, namespace: str, commands: Commands) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._commands = commands
        self._started: set[str] = set()

    def read(self, claim: str, pattern: str) -> dict[str, str]:
        pod = f"{READER}-{claim}"
        if claim not in self._started:
            self._start(pod, claim)
            self._started.add(claim)
        # In one go: what it costs is taken from those who train.
        script = (
            f"cd /data && for f in {pattern}; do "
            r'[ -f "$f" ] && printf "\001%s\002" "$f" && cat "$f"; done; true'
        )
        found = self._commands.run(pod, READER, "sh", "-c", script)
        parts = (part.partition("\2") for part in found.split("\1")[1:])
        return {name: text for name, _, text in parts}

    def _start(self, pod: str, claim: str) -> None:
        namespaced = ("-n", self._namespace)
        manifest = json.dumps(_reader(pod, claim))
        self._cluster.kubectl(*namespaced, "apply", "-f", "-", input=manifest)
        ready = ("wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=120s")
        self._cluster.kubectl(*namespaced, *ready)


def _reader(name: str, claim: str) -> Json:
    container = {
        "name": READER,
        "image": IMAGE,
        "command": ["sleep", "86400"],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }
