"""What a RuntimeClass will add to pods that name it, and which pods it refuses.

As the admission plugin RuntimeClass (plugin/pkg/admission/runtimeclass): the class's overhead
becomes the pod's, its nodeSelector and tolerations are merged with the pod's own.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from edl.kube.decode.schemas import RuntimeClassObject
from edl.model import Shape, Toleration
from edl.quantities import Resources

_classes: Final = msgspec.json.Decoder(RuntimeClassObject)


class RuntimeClassFacts(msgspec.Struct, frozen=True, gc=False):
    """A RuntimeClass. `pod_fixed` is its overhead, as quantities of the API."""

    name: str
    pod_fixed: tuple[tuple[str, str], ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    @property
    def overhead(self) -> Resources:
        """The resources that one pod takes of its node besides its containers' requests."""
        return Resources.parse(dict(self.pod_fixed))


class RuntimeReference(msgspec.Struct, frozen=True, gc=False):
    """The RuntimeClass that a pod template names, and the template's own overhead."""

    name: str = ""
    overhead: Resources = Resources()


NO_CLASS: Final = RuntimeClassFacts("")
"""For pods without a RuntimeClass, and if RuntimeClasses may not be read."""
RuntimeClasses: TypeAlias = Mapping[str, RuntimeClassFacts] | None
"""By name; None if RuntimeClasses may not be read."""


def runtime_class(raw: bytes) -> RuntimeClassFacts:
    obj = _classes.decode(raw)
    fixed = (obj.overhead.pod_fixed if obj.overhead else None) or {}
    scheduling = obj.scheduling
    selector = (scheduling.node_selector if scheduling else None) or {}
    tolerations = (scheduling.tolerations if scheduling else None) or ()
    return RuntimeClassFacts(
        name=obj.metadata.name,
        pod_fixed=tuple(sorted(fixed.items())),
        node_selector=tuple(sorted(selector.items())),
        tolerations=tuple(tolerations),
    )


def named(template: RuntimeReference, classes: RuntimeClasses) -> RuntimeClassFacts | None:
    """The class of a template's pods; None if it does not exist."""
    return classes.get(template.name) if template.name and classes is not None else NO_CLASS


def admitted(shape: Shape, template: RuntimeReference, facts: RuntimeClassFacts | None) -> Shape:
    """The shape of a template's pods after admission; unchanged if they would be refused."""
    if facts is None or facts == NO_CLASS or any(refusals(shape, template, facts)):
        return shape
    added = [toleration for toleration in facts.tolerations if toleration not in shape.tolerations]
    return replace(
        shape,
        requests=shape.requests + facts.overhead - template.overhead,
        node_selector=tuple(sorted({*shape.node_selector, *facts.node_selector})),
        tolerations=(*shape.tolerations, *added),
    )


def refusals(
    shape: Shape, template: RuntimeReference, facts: RuntimeClassFacts | None
) -> Iterator[str]:
    """Why no pod of this template is admitted.

    `shape` is the template's, before or after `admitted`.
    """
    if facts is None:
        remedy = "create it, or recreate the Jobs with another"
        yield f'RuntimeClass "{template.name}" does not exist: {remedy}'
        return
    unread = template.name and not facts.name
    if template.overhead and template.overhead != facts.overhead and not unread:
        yield (
            "the overhead in its pod template is not the one of its RuntimeClass, which the API "
            "server refuses: remove it"
        )
    selector = dict(shape.node_selector)
    for key, value in facts.node_selector:
        if selector.get(key, value) != value:
            yield (
                f'RuntimeClass "{facts.name}" refuses its pods: it sets nodeSelector {key}={value},'
                f" and their template sets {key}={selector[key]}"
            )
