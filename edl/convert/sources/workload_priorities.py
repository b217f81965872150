"""Kueue's WorkloadPriorityClass becomes a PriorityClass, and its label priorityClassName.

Fields: sigs.k8s.io/kueue apis/kueue, v1beta1 and v1beta2; limits of a PriorityClass: Kubernetes'
pkg/apis/scheduling.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from edl import contract
from edl.contract.manifest_parts import labels, with_metadata
from edl.convert.diagnostics import Remark
from edl.convert.parts import object_metadata, pod_templates
from edl.convert.source_kind import SourceKind, api_of
from edl.convert.tracked_object import Fields
from edl.writes import Json

_WORKLOAD_PRIORITY_CLASS: Final = "WorkloadPriorityClass"
_PRIORITY_CLASS: Final = "PriorityClass"
_KUBERNETES: Final = "scheduling.k8s.io"
_KUEUE: Final = "kueue.x-k8s.io"
_CLASSES: Final = ((_KUBERNETES, _PRIORITY_CLASS), (_KUEUE, _WORKLOAD_PRIORITY_CLASS))
_HIGHEST: Final = 10**9
_LOWEST: Final = -(2**31)
_RESERVED: Final = "system-"


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document)
    value = document.whole("value", least=_LOWEST)
    if value is None or value > _HIGHEST:
        document.wrong("value", "is not a PriorityClass's", f"a whole number up to {_HIGHEST}")
    if meta.name.startswith(_RESERVED):
        meta.fields.wrong("name", f'"{_RESERVED}" is reserved for Kubernetes', "another name")
    what = "as a PriorityClass it also orders pods in kube-scheduler, and lets them preempt"
    document.note("", what, "add preemptionPolicy: Never where they must not")
    fields = {"value": value} | {
        name: text for name in ("description",) if (text := document.text(name))
    }
    names: Json = {"apiVersion": f"{_KUBERNETES}/v1", "kind": _PRIORITY_CLASS}
    return (names | {"metadata": meta.of(meta.name, {}, {})} | fields,)


SOURCE: Final = SourceKind(
    apis=((_KUEUE, _WORKLOAD_PRIORITY_CLASS),), versions=("v1beta1", "v1beta2"), read=read
)


def classes(documents: Iterable[Json]) -> frozenset[str]:
    """Names of the PriorityClasses that documents are or become."""
    parts = (document.get("metadata") for document in documents if api_of(document)[0] in _CLASSES)
    names = (part.get("name") for part in parts if isinstance(part, dict))
    return frozenset(name for name in names if isinstance(name, str))


def moved(
    manifests: Iterable[Json], classes: Collection[str]
) -> tuple[tuple[Json, ...], tuple[Remark, ...]]:
    """The manifests with Kueue's label as priorityClassName, and what is lost of it, once.

    `classes` are the PriorityClasses that are known to exist.
    """
    pairs = [_moved(manifest, classes) for manifest in manifests]
    lost = dict.fromkeys(remark for _, remark in pairs if remark)
    return tuple(manifest for manifest, _ in pairs), tuple(lost)


def _moved(manifest: Json, classes: Collection[str]) -> tuple[Json, Remark | None]:
    name = labels(manifest).get(contract.KUEUE_PRIORITY_CLASS)
    if name is None:
        return manifest, None
    bare = _without_label(manifest)
    pod = bare["spec"]["template"]["spec"]
    given = pod.get("priorityClassName") or name
    if given != name:
        instead = f'their priorityClassName "{given}" orders the Job: choose one of them'
        return bare, _lost(f'pods cannot have the class "{name}", too', instead)
    if name not in classes:
        instead = f"set priorityClassName: {name} in the pod templates when it exists"
        return bare, _lost(f'no PriorityClass "{name}" is in the input', instead)
    template = bare["spec"]["template"] | {"spec": pod | {"priorityClassName": name}}
    return bare | {"spec": bare["spec"] | {"template": template}}, None


def _lost(what: str, instead: str) -> Remark:
    return Remark(("metadata", "labels", contract.KUEUE_PRIORITY_CLASS), what, instead)


def _without_label(manifest: Json) -> Json:
    rest = pod_templates.without(manifest["metadata"]["labels"], contract.KUEUE_PRIORITY_CLASS)
    return with_metadata(manifest, labels=rest)
