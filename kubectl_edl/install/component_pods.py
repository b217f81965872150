"""The pods of webhook and reconciler: ready images, and why other pods do not start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from edl.kube.cluster import Cluster, ListOptions
from edl.kube.decode.training_pods import container_wait
from edl.messages import container_messages
from edl.model.pods import ContainerWait
from edl.writes import Json
from kubectl_edl.install.rollout import PART_OF

_COMPONENT: Final = "app.kubernetes.io/name"


@dataclass(frozen=True, slots=True)
class ComponentPod:
    """A pod of a component's Deployment, of any template."""

    name: str
    component: str
    image: str
    """As its template names it."""
    ready: bool
    waits: ContainerWait | None
    """Why it cannot start; None for an ordinary wait."""

    @property
    def lacks_image(self) -> bool:
        return self.waits is not None and self.waits.reason in container_messages.NO_IMAGE


def component_pods(cluster: Cluster) -> tuple[ComponentPod, ...]:
    """Those that are not being deleted. Raises Forbidden."""
    found = cluster.list(ListOptions("Pod", cluster.system_namespace, PART_OF)).manifests()
    return tuple(_pod(one) for one in found if "deletionTimestamp" not in one["metadata"])


def _pod(pod: Json) -> ComponentPod:
    metadata, status = pod["metadata"], pod.get("status") or {}
    waits = container_wait(status)
    return ComponentPod(
        name=metadata["name"],
        component=str((metadata.get("labels") or {}).get(_COMPONENT) or ""),
        image=first_image(pod),
        ready=any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in status.get("conditions") or ()
        ),
        waits=None if waits is None or waits.usual else waits,
    )


def first_image(template: Json) -> str:
    """The image of the only container of a pod or a pod template of ours; or empty."""
    containers = (template.get("spec") or {}).get("containers") or ()
    return next((str(one.get("image") or "") for one in containers), "")


def worst_of(stuck: Sequence[ComponentPod]) -> ComponentPod:
    """The pod with the most restarts, first one without an image."""
    return max(stuck, key=lambda one: (one.lacks_image, one.waits.restarts if one.waits else 0))


def stalled(stuck: Sequence[ComponentPod]) -> str:
    """`pod edl-webhook-1 (image …:9) waits: container webhook: ErrImagePull: …`."""
    worst = worst_of(stuck)
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
    return next((one for one in (*running, *retagged) if one not in unpullable), "")


def is_of_release(image: str, release: str) -> bool:
    return tag(image).removeprefix("v") == release


def is_of_other_release(image: str, release: str) -> bool:
    """By its tag; False without one."""
    return bool(tag(image)) and not is_of_release(image, release)


def tag(image: str) -> str:
    """The image's tag; empty if it has none or is selected by digest."""
    name, colon, found = image.rpartition("/")[2].partition(":")
    return found if name and colon and "@" not in image else ""


def _retagged(image: str, release: str) -> str:
    plain, before = image.partition("@")[0], tag(image)
    repository = plain.removesuffix(f":{before}") if before else plain
    return f"{repository}:{'v' if before.startswith('v') else ''}{release}"
