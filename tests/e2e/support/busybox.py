"""Small pods of busybox: what a node does for pods, without any training."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox import Sandbox
from sandbox.builds import debian
from sandbox.builds.build import BuildEnvironment
from sandbox.cluster import Cluster
from sandbox.errors import SandboxError
from sandbox.paths import places
from sandbox.real import archive
from tests.e2e.support.commands import Commands
from tests.temporary_namespace import temporary

IMAGE = "docker.io/library/busybox:1"
WITHIN = 60.0  # seconds until a test gives up
FOR_EVER = "exec busybox sleep 86400"
Json = dict[str, Any]


class Pods:
    """Pods of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._commands = Commands(cluster, namespace)

    def run(self, name: str, script: str = FOR_EVER, **spec: object) -> None:
        """A pod with the label app=NAME; it is ready on return. spec: fields of the pod."""
        self.create(manifest(name, script, **spec))
        self.ready(name)

    def ready(self, name: str) -> None:
        self.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")

    def create(self, *manifests: Json) -> None:
        self.kubectl("create", "-f", "-", text="\n---\n".join(map(json.dumps, manifests)))

    def exec(self, pod: str, script: str) -> str:
        return self._commands.run(pod, "main", "sh", "-c", script)

    def reach(self, pod: str, url: str) -> str:
        """What a page says, seen from a pod; names and rules may need a moment."""
        return self.answers(pod, f"busybox wget -qO- {url}").strip()

    def answers(self, pod: str, script: str) -> str:
        """What it prints as soon as it succeeds."""
        return _insisting(lambda: self.exec(pod, script))

    def fetch(self, path: str) -> str:
        """What the API server answers as soon as it can; who is Ready may not listen yet."""
        return _insisting(lambda: self.kubectl("get", "--raw", path))

    def kubectl(self, *args: str, text: str | None = None) -> str:
        return self.cluster.kubectl("-n", self.namespace, *args, input=text)

    def container(self, pod: str) -> tuple[str, int]:
        """Its container's id, and how often it was started again."""
        path = "{.status.containerStatuses[0]['containerID','restartCount']}"
        identity, restarts = self.kubectl("get", "pod", pod, f"-o=jsonpath={path}").split()
        return identity, int(restarts)


def _insisting(ask: Callable[[], str]) -> str:
    deadline = time.monotonic() + WITHIN
    while True:
        try:
            return ask()
        except SandboxError as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"it never succeeded: {error}") from None
            time.sleep(0.2)


@contextmanager
def pods_on(cluster: Cluster) -> Iterator[Pods]:
    """A namespace of a cluster whose nodes have the image, or find it."""
    load(cluster)
    with temporary(cluster) as namespace:
        yield Pods(cluster, namespace)


def load(cluster: Cluster) -> None:
    """Have a sandbox's node know the image; other clusters pull it."""
    if not isinstance(cluster, Sandbox) or IMAGE in cluster.images():
        return
    build_env = BuildEnvironment(places(os.environ).cache, os.environ)
    program = debian.unpacked("busybox", build_env, sys.stderr.write) / "bin/busybox"
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, "busybox.tar")
        files = {"/bin/busybox": program, "/bin/sh": program}
        archive.write_image(image, IMAGE, files, ["/bin/sh"])
        cluster.import_image(image)


def manifest(name: str, script: str = FOR_EVER, **spec: object) -> Json:
    """A pod that runs a shell script."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": template(script, **spec),
    }


def template(script: str, **spec: object) -> Json:
    container: Json = {"name": "main", "image": IMAGE, "command": ["sh", "-c", script]}
    # What belongs to the container of a pod with only one.
    for field in ("volumeMounts", "readinessProbe", "env"):
        if field in spec:
            container[field] = spec.pop(field)
    return {"terminationGracePeriodSeconds": 0, "containers": [container], **spec}


def service(name: str, **spec: object) -> Json:
    """A Service of the pods of the same name, port 80 for their port 8080."""
    ports = [{"port": 80, "targetPort": 8080}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": ports, **spec},
    }


def page(text: str) -> str:
    """The script of a pod that serves one page on port 8080."""
    return f"busybox mkdir /www; echo {text} > /www/index.html; exec busybox httpd -fp 8080 -h /www"
