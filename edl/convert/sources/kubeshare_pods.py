"""KubeShare's SharePods (1.0), and pods with its labels (2.0): a Job of one pod each.

Fields: NTHU-LSALAB/KubeShare README and pkg/apis, of each version.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from edl import contract
from edl.contract.manifest_parts import mapping
from edl.convert import template_schema, training_manifest
from edl.convert.parts import (
    gpu_share_labels,
    object_metadata,
    pod_templates,
    replica_bounds,
    restart_policy,
)
from edl.convert.parts.gpu_share_labels import ShareLabels
from edl.convert.parts.object_metadata import SourceMetadata
from edl.convert.source_kind import SourceKind
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.model.nodes import HOSTNAME
from edl.writes import Json

_PREFIXES: Final = ("kubeshare", "sharedgpu")
"""The prefixes of 1.0 and 2.0; SharePods between the two had 2.0's keys as annotations."""
_DEVICES: Final = ("kubeshare/GPUID", "sharedgpu/GPUID", "sharedgpu/nodeName")
_AFFINITIES: Final = tuple(
    f"kubeshare/sched_{word}" for word in ("affinity", "anti-affinity", "exclusion")
)
_WRITTEN: Final = (contract.SHARED_GPU_UUID, "sharedgpu/gpu_manager_port", "sharedgpu/cell_id")
"""Keys that KubeShare's scheduler writes when it binds a pod."""
_GROUP: Final = "sharedgpu/group_name"


def read_share_pod(document: Fields) -> Sequence[Json]:
    """A SharePod: its metadata is its pod's, and its share is in annotations."""
    meta = _metadata(document, _AFFINITIES)
    words = meta.annotations
    share = next(
        (parsed for prefix in _PREFIXES if (parsed := gpu_share_labels.of(words, prefix)).labels),
        ShareLabels(words),
    )
    # The scheduler of 2.0 reads its remaining keys from labels only.
    labels = {name: text for name, text in share.rest.items() if _is_two(name)}
    rest = {name: text for name, text in share.rest.items() if name not in labels}
    return _job(document, replace(meta, annotations=rest), share, {**meta.labels, **labels})


def read_pod(document: Fields) -> Sequence[Json]:
    """A pod of 2.0: its share is in labels; what ours cannot express stays on the pod."""
    meta = _metadata(document)
    if _GROUP in meta.labels:
        what = "KubeShare still waits for the whole group, and the queue starts each Job by itself"
        document.note("", what, f"group {meta.labels[_GROUP]}: apply all of them")
    share = gpu_share_labels.of(meta.labels, "sharedgpu")
    rest = {name: text for name, text in share.rest.items() if not _is_two(name)}
    return _job(document, replace(meta, labels=rest), share, share.rest)


def _metadata(document: Fields, affinities: Sequence[str] = ()) -> SourceMetadata:
    meta = object_metadata.read(document, interpreted=(*_DEVICES, *affinities, *_WRITTEN))
    _drop(meta, _DEVICES, "KubeShare chooses the device")
    _drop(meta, affinities, f"give the pods labels and a pod affinity, or {_GROUP}")
    if any(name in meta.interpreted for name in _WRITTEN):
        what = "left out what KubeShare's scheduler wrote; variables and mounts of its stay"
        meta.annotated.note("", what, "convert the file that the pod was made from")
    return meta


def is_sharing(document: Json) -> bool:
    """Whether it is a user's own pod with 2.0's labels; pods with an owner are not converted."""
    meta = mapping(document.get("metadata"))
    labels = mapping(meta.get("labels"))
    ours = contract.FRAMEWORK in labels or meta.get("ownerReferences")
    return any(map(_is_two, labels)) and not ours


def _is_two(name: str) -> bool:
    return name.startswith("sharedgpu/")


def _drop(meta: SourceMetadata, names: Sequence[str], instead: str) -> None:
    for name in names:
        if name in meta.interpreted:
            meta.annotated.lose(name, f'"{meta.interpreted[name]}" is not carried', instead)


def _job(
    document: Fields, meta: SourceMetadata, share: ShareLabels, pod_labels: Mapping[str, str]
) -> Sequence[Json]:
    """The pod's annotations are set on the pod only, its labels on the pod and on the Job."""
    spec = document.shaped("spec", template_schema.POD) or {}
    if not spec.get("containers"):
        document.wrong("spec", "has no containers", "a pod's spec")
        return ()
    bare = {"spec": _without_node(document, meta, spec)}
    policy, template = pod_templates.restart_of(document, bare, "spec")
    texts = {"labels": dict(pod_labels), "annotations": dict(meta.annotations)}
    head = {place: words for place, words in texts.items() if words}
    template = ({"metadata": head} if head else {}) | template
    restart, job = restart_policy.restarted(policy or "OnFailure", None)
    if not policy:
        document.note("spec", "restartPolicy was Always, a pod's default, and is OnFailure")
    elif policy == "Always":
        what = "restartPolicy Always also starts a pod again that ended well"
        document.lose(("spec", "restartPolicy"), what, "a Job never does: it is OnFailure now")
    part = RoleManifest(
        "worker",
        replica_bounds.exactly(1),
        pod_templates.with_restart(template, restart),
        job=job,
        labels=share.labels,
        annotations=share.annotations,
    )
    return training_manifest.manifests(
        TrainingManifest(replace(meta, annotations={}), "none", (part,))
    )


def _without_node(document: Fields, meta: SourceMetadata, spec: Json) -> Json:
    """Replace the user's `nodeName`, which bypasses all schedulers, by a node selector.

    KubeShare's scheduler writes it together with the device: that node is left out.
    """
    node = spec.get("nodeName")
    if not node:
        return spec
    bare = pod_templates.without(spec, "nodeName")
    if any(name in meta.interpreted for name in (*_DEVICES, *_WRITTEN)):
        what = f"left out nodeName {node}: KubeShare's scheduler writes it with the device"
        document.note("spec", what, f"if you chose it, set nodeSelector {HOSTNAME}: {node}")
        return bare
    what = f"{node} is requested by {HOSTNAME} now, so that a scheduler sees the pod"
    document.note("spec", what)
    return bare | {"nodeSelector": {**(spec.get("nodeSelector") or {}), HOSTNAME: node}}


SHARE_POD: Final = SourceKind(
    apis=(("kubeshare.nthu", "SharePod"), ("sharedgpu.goc", "SharePod")),
    versions=("v1",),
    read=read_share_pod,
)
POD: Final = SourceKind(apis=(("", "Pod"),), versions=("v1",), read=read_pod, fits=is_sharing)
