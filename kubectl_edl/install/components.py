"""Webhook and reconciler: whether each is rolled out, its images, and why pods do not start."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from edl import contract
from edl.contract.manifest_parts import labels
from edl.errors import Forbidden
from edl.kube.cluster import Cluster, ListOptions, find
from edl.kube.decode.training_pods import container_wait
from edl.messages import container_messages
from edl.model import ObjectRef
from edl.model.pods import CRASH_LOOP, ContainerWait
from edl.writes import Json

WEBHOOK: Final = "edl-webhook"
DEPLOYMENTS: Final = (WEBHOOK, "edl-reconciler")
PART_OF: Final = "app.kubernetes.io/part-of"
_PODS: Final = f"{PART_OF}={contract.MANAGED_BY}"
_COMPONENT: Final = "app.kubernetes.io/name"
_CRASHES: Final = 3


@dataclass(frozen=True, slots=True)
class ComponentPod:
    """A pod of a component's Deployment that is not being deleted."""

    name: str
    image: str
    """As its template names it."""
    current: bool
    """Whether it is of the Deployment's template; another one is about to be deleted."""
    ready: bool
    waits: ContainerWait | None
    """Why it cannot start; None for an ordinary wait."""
    unscheduled: str
    """Why it has no node, in the scheduler's words; empty if it has one."""

    @property
    def lacks_image(self) -> bool:
        return self.waits is not None and self.waits.reason in container_messages.NO_IMAGE

    @property
    def crash_loops(self) -> bool:
        waits = self.waits
        return bool(waits and waits.reason == CRASH_LOOP and waits.restarts >= _CRASHES)


@dataclass(frozen=True, slots=True)
class Component:
    """A Deployment of the installation, and its pods as far as the user may list them."""

    name: str
    template: Json
    """The spec of its pods."""
    wanted: int
    ready: int
    updated: int
    """The number of pods of its newest template."""
    rolled_out: bool
    """Whether all of its pods are of its newest template, and available."""
    overdue: bool
    """Whether its rollout has made no progress within `progressDeadlineSeconds`."""
    refusal: str
    """Why the API server refuses pods of its template, in its words; empty if it does not."""
    pods: tuple[ComponentPod, ...]

    @property
    def image(self) -> str:
        return _image(self.template)

    @property
    def stuck(self) -> Sequence[ComponentPod]:
        """Pods that cannot start: first those without an image, then by restarts."""
        ranked = [(pod.lacks_image, pod.waits.restarts, pod) for pod in self.pods if pod.waits]
        return [pod for *_, pod in sorted(ranked, key=itemgetter(0, 1), reverse=True)]


def components(cluster: Cluster) -> dict[str, Component]:
    """The existing Deployments by name. Raises Forbidden if the user may not read them."""
    targets = (ObjectRef("Deployment", cluster.system_namespace, name) for name in DEPLOYMENTS)
    deployed = {target.name: manifest for target in targets if (manifest := find(cluster, target))}
    pods: list[Json] = []
    with suppress(Forbidden):
        pods = cluster.list(ListOptions("Pod", cluster.system_namespace, _PODS)).manifests()
    alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return {
        name: _component(name, body, [pod for pod in alive if labels(pod).get(_COMPONENT) == name])
        for name, body in deployed.items()
    }


def _component(name: str, deployment: Json, pods: Iterable[Json]) -> Component:
    spec, status = deployment["spec"], deployment.get("status") or {}
    wanted, template = spec.get("replicas", 1), spec["template"]["spec"]
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    conditions = _conditions(status)
    return Component(
        name=name,
        template=template,
        wanted=wanted,
        ready=status.get("readyReplicas") or 0,
        updated=status.get("updatedReplicas", 0),
        rolled_out=seen and all(status.get(count, 0) == wanted for count in counts),
        overdue=("Progressing", "False") in conditions,
        refusal=conditions.get(("ReplicaFailure", "True"), ""),
        pods=tuple(_pod(pod, template) for pod in pods),
    )


def _pod(pod: Json, template: Json) -> ComponentPod:
    status = pod.get("status") or {}
    waits, conditions = container_wait(status), _conditions(status)
    return ComponentPod(
        name=pod["metadata"]["name"],
        image=_image(pod["spec"]),
        current=_runs(pod["spec"]) == _runs(template),
        ready=("Ready", "True") in conditions,
        waits=None if waits is None or waits.usual else waits,
        unscheduled=conditions.get(("PodScheduled", "False"), ""),
    )


def _conditions(status: Json) -> dict[tuple[str, str], str]:
    """Messages in one line, or reasons, by type and status."""
    return {
        (condition["type"], condition["status"]): " ".join(
            (condition.get("message") or condition.get("reason", "")).split()
        )
        for condition in status.get("conditions") or ()
    }


def _runs(spec: Json) -> list[tuple[str, list[str]]]:
    """Images and arguments of a pod."""
    return [(container["image"], container.get("args", [])) for container in spec["containers"]]


def _image(spec: Json) -> str:
    """The image of the only container of a pod of ours."""
    return str(spec["containers"][0]["image"])


def stalled(stuck: Sequence[ComponentPod]) -> str:
    """`pod edl-webhook-1 (image …:9) waits: container webhook: ErrImagePull: …`."""
    worst = stuck[0]
    cause = container_messages.container_wait(worst.waits) if worst.waits else ""
    more = f" and {len(stuck) - 1} more" if len(stuck) > 1 else ""
    return f"pod {worst.name} (image {worst.image}){more} waits: {cause}"


def image_of_release(pods: Sequence[ComponentPod], template: str, release: str) -> str:
    """An image of this release, first those of ready pods; empty if no node can pull any.

    Without ready pods of the release, its tag replaces that of their image, or of the template's.
    """
    ready = [pod.image for pod in pods if pod.ready]
    running = [image for image in ready if is_of_release(image, release)]
    retagged = [_retagged(image, release) for image in (*ready, template)]
    unpullable = {pod.image for pod in pods if pod.lacks_image}
    return next((image for image in (*running, *retagged) if image not in unpullable), "")


def is_of_release(image: str, release: str) -> bool:
    return tag(image).removeprefix("v") == release


def is_of_other_release(image: str, release: str) -> bool:
    """By its tag; False without one."""
    return bool(tag(image)) and not is_of_release(image, release)


def tag(image: str) -> str:
    """The image's tag; empty if it has none or is selected by digest."""
    name, colon, version = image.rpartition("/")[2].partition(":")
    return version if name and colon and "@" not in image else ""


def _retagged(image: str, release: str) -> str:
    plain, before = image.partition("@")[0], tag(image)
    repository = plain.removesuffix(f":{before}") if before else plain
    return f"{repository}:{'v' if before.startswith('v') else ''}{release}"
