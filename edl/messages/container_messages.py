"""Sentences about pods of which a container cannot start, and what the user can do."""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.model import Pod
from edl.model.pods import CRASH_LOOP, ContainerWait

NO_IMAGE: Final = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}
)
"""The kubelet's reasons for a container whose image cannot be pulled."""
_KUBECTL_IMAGE: Final = (
    "launchers copy kubectl from this image, so their namespace needs credentials for it "
    "(imagePullSecrets of the launcher or its ServiceAccount), or the installation a launcherImage "
    "that can be pulled without"
)
_OWN_ACCOUNT: Final = (
    "is the image's name right, and may this cluster pull it? The pod runs as {}, which has no "
    "imagePullSecrets of the account default: write imagePullSecrets in the pod template, and "
    "recreate the Job"
)
_CONFIG: Final = frozenset({"CreateContainerConfigError", "CreateContainerError"})
OUT_OF_MEMORY: Final = "OOMKilled"
"""The kubelet's reason for a container that exceeded its memory limit."""
MORE_MEMORY: Final = "raise its container's memory limit, or make its program use less"


def container_wait(wait: ContainerWait) -> str:
    """`container main: CrashLoopBackOff: OOMKilled, exit code 137, 7 restarts`."""
    why = wait.message
    if wait.reason == CRASH_LOOP and wait.ended_by:
        restarts = "1 restart" if wait.restarts == 1 else f"{wait.restarts} restarts"
        why = f"{wait.ended_by}, exit code {wait.exit_code}, {restarts}"
    return f"container {wait.container}: {': '.join(filter(None, (wait.reason, why)))}"


def stalled(pods: Sequence[Pod]) -> str:
    """`mnist-0-x0 waits: container main: ImagePullBackOff: …`, or `2 pods wait: …`.

    All pods wait for one cause; the text is that of the pod with the most restarts.
    """
    waits = [pod.containers.waits for pod in pods]
    most = max((wait for wait in waits if wait), key=lambda wait: wait.restarts)
    named = f"{pods[0].name} waits" if len(pods) == 1 else f"{len(pods)} pods wait"
    return f"{named}: {container_wait(most)}"


def next_command(pod: str, wait: ContainerWait | None, options: str, account: str = "") -> str:
    """The next command for a pod, by its name and why it waits.

    `options`: its namespace and cluster, for kubectl. `account`: its ServiceAccount if that is a
    generated one.
    """
    describe = f"kubectl describe pod {pod} {options}"
    if wait is None:
        return describe
    if wait.reason in NO_IMAGE and wait.container == contract.KUBECTL_CONTAINER:
        return f"{_KUBECTL_IMAGE}: {describe}"
    if wait.reason in NO_IMAGE and account:
        return f"{_OWN_ACCOUNT.format(account)}: {describe}"
    if wait.reason in NO_IMAGE:
        return f"is the image's name right, and may this cluster pull it? {describe}"
    if wait.reason in _CONFIG:
        return f"a ConfigMap or Secret that it names is missing: {describe}"
    if wait.reason != CRASH_LOOP:
        return describe
    logs = f"kubectl logs {pod} -c {wait.container} {options}"
    return f"{MORE_MEMORY}: {logs}" if wait.ended_by == OUT_OF_MEMORY else logs
