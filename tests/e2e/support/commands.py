"""Commands in pods as `kubectl exec` runs them, without a kubectl for each of some thousand."""

import json
from typing import Any, Final

from kubernetes.client import ApiException, CoreV1Api
from kubernetes.config import new_client_from_config
from kubernetes.stream import stream
from kubernetes.stream.ws_client import ERROR_CHANNEL
from websocket import WebSocketException

from sandbox.cluster import Cluster
from sandbox.errors import SandboxError

WITHIN: Final = 120.0
"""Seconds for a command to end."""
_CUT_OFF: Final = '{"status": "Failure", "message": "it has not ended, or was cut off"}'


class Commands:
    """Commands in the pods of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        # Of its own: a stream puts itself in the place of the client's requests.
        self._pods = CoreV1Api(new_client_from_config(str(cluster.kubeconfig)))  # type: ignore[no-untyped-call]
        self._namespace = namespace

    def run(self, pod: str, container: str, *command: str) -> str:
        """What it prints. Raises SandboxError if it cannot be started, fails or does not end."""
        try:
            done = self._started(pod, container, command)
            try:
                done.run_forever(timeout=WITHIN)
            finally:
                done.sock.shutdown()
        except (ApiException, WebSocketException, OSError) as error:
            raise SandboxError(f"exec {pod}: {error}") from None
        status = json.loads(done.read_channel(ERROR_CHANNEL) or _CUT_OFF)
        if status["status"] != "Success":
            raise SandboxError(f"exec {pod}: {_why(status)}: {done.read_stderr().strip()}")
        return str(done.read_stdout())

    def _started(self, pod: str, container: str, command: tuple[str, ...]) -> Any:  # noqa: ANN401 - the package has no types
        return stream(
            self._pods.connect_get_namespaced_pod_exec,
            pod,
            self._namespace,
            container=container,
            command=list(command),
            stdout=True,
            stderr=True,
            _preload_content=False,
        )


def _why(status: dict[str, Any]) -> str:
    causes = status.get("details", {}).get("causes", ())
    codes = (cause["message"] for cause in causes if cause["reason"] == "ExitCode")
    return next((f"exit code {code}" for code in codes), str(status.get("message")))
