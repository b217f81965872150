"""Translates GPU shares into KubeShare's labels, and adapts pods to how it binds them.

Names and rules are those of its source: 2.0 pkg/scheduler/pod.go and pod_group.go, 1.0
pkg/devicemanager/controller.go.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from edl import contract
from edl.contract import KubeShare
from edl.contract.manifest_parts import annotations, labels, metadata, template
from edl.errors import Denied, Finding, refuse
from edl.spec.job_spec import Gpu, JobSpec
from edl.writes import Json

_VALUE: Final = re.compile(r"[0]+.[0-9]+|[1-9]+[0-9]*[.]+[0]+|[1-9]+")
"""2.0's own pattern: a value is accepted if the first match is the whole of it, and it is a
number."""
_AMOUNTS: Final = (contract.SHARED_GPU_LIMIT, contract.SHARED_GPU_REQUEST)
_SHARE: Final = (*_AMOUNTS, contract.SHARED_GPU_MEMORY)
_TAKEN: Final = "such as 0.5, 1.0 or, above 1, whole GPUs with a point: 10.0"
_LONGEST: Final = 19
"""Digits of an amount: 1e999999 would be written out in full."""
_LONGEST_VALUE: Final = 63
_ONLY_SHARE_PODS: Final = (
    f"{contract.KUBESHARE}: 1 only annotates the pods, but KubeShare 1.0 reads only SharePods:"
    " these pods get no share of a GPU unless another tool creates SharePods from them"
)
_NO_SCHEDULER: Final = ("", "default-scheduler")


def with_share(metadata: Json, spec: JobSpec) -> Json:
    """The pods' metadata with the share that `spec`, or annotations of 1.0, ask for.

    Raises Denied for what KubeShare would never schedule.
    """
    path = _path(spec)
    annotations = _texts(metadata, "annotations")
    given = metadata.get("labels") or {}
    if spec.resources.kubeshare is KubeShare.ONE:
        words = {**_words_1(spec.resources.gpu), **(metadata.get("annotations") or {})}
        return metadata | {"annotations": words} if words else metadata
    refuse(_old_findings(annotations, f"{path}.annotations"))
    labels = {**_words(spec.resources.gpu, annotations), **given}
    refuse(_findings(_texts({"labels": labels}, "labels"), f"{path}.labels"))
    return metadata | {"labels": labels} if labels else metadata


def check_gated(labels: Mapping[str, str], spec: JobSpec) -> None:
    """Raises Denied for a share on pods that wait behind a scheduling gate."""
    if is_share(labels):
        what = f"a {spec.role} waits behind a scheduling gate, which KubeShare's scheduler ignores"
        path = f"{_path(spec)}.labels[{contract.SHARED_GPU_LIMIT}]"
        raise Denied([Finding(path, what, "shares are for the workers; whole GPUs can be here")])


def is_share(labels: Mapping[str, str]) -> bool:
    """Whether KubeShare 2.0 assigns a GPU, or a part of one, to a pod with these labels."""
    return any(_number(str(labels[name])) != 0 for name in _AMOUNTS if name in labels)


def binds(pod: Json, labels: Mapping[str, str]) -> bool:
    """Whether KubeShare's scheduler binds a pod with these labels: it ignores scheduling gates."""
    return pod.get("schedulerName") == contract.KUBESHARE_SCHEDULER and is_share(labels)


def with_scheduler(pod: Json) -> Json:
    """The pod with KubeShare's scheduler, unless its user chose another one."""
    if pod.get("schedulerName", "") not in _NO_SCHEDULER:
        return pod
    return pod | {"schedulerName": contract.KUBESHARE_SCHEDULER}


def with_tracking(pod: Json) -> Json:
    """A Job's pod, which gets the Job controller's finalizer only once KubeShare has bound it.

    KubeShare binds a pod by deleting it and creating it again with a node, under the same name. A
    pod with the finalizer would remain, and would count as failed (docs/kubernetes.md 19).
    """
    spec = pod.get("spec") or {}
    if not binds(spec, labels(pod)):
        return pod
    finalizers = metadata(pod).get("finalizers") or []
    others = [name for name in finalizers if name != contract.JOB_TRACKING]
    wanted = [*others, contract.JOB_TRACKING] if spec.get("nodeName") else others
    if len(wanted) == len(finalizers):
        return pod
    rest = {field: value for field, value in metadata(pod).items() if field != "finalizers"}
    return pod | {"metadata": rest | ({"finalizers": wanted} if wanted else {})}


def warnings(manifest: Json, spec: JobSpec) -> tuple[str, ...]:
    """Warnings about KubeShare annotations of a new object that will have no effect.

    2.0 has no counterpart for some annotations of 1.0; 1.0 itself reads no annotations of pods.
    """
    pods = manifest if spec.rank is not None else template(manifest)
    notes = annotations(pods)
    if spec.resources.kubeshare is KubeShare.ONE:
        shared = (
            spec.resources.gpu and spec.resources.gpu.request
        ) or contract.KUBESHARE_1.keys() & notes.keys()
        return (_ONLY_SHARE_PODS,) if shared else ()
    if contract.SHARED_GPU_LIMIT in labels(pods):
        return ()
    lost = [name for name in contract.KUBESHARE_1_ALONE if name in notes]
    return tuple(
        f"{name} has no counterpart in KubeShare 2.0, whose scheduler chooses the GPU by itself"
        for name in lost
    )


def _texts(metadata: Json, place: str) -> Mapping[str, str]:
    """The labels or annotations that are strings; the API server refuses the others."""
    texts = metadata.get(place) or {}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def _path(spec: JobSpec) -> str:
    return "spec.template.metadata" if spec.rank is None else "metadata"


def _words(gpu: Gpu | None, annotations: Mapping[str, str]) -> Mapping[str, str]:
    """The labels of 2.0."""
    if gpu and gpu.request:
        memory = {} if gpu.memory is None else {contract.SHARED_GPU_MEMORY: str(gpu.memory)}
        request = {contract.SHARED_GPU_REQUEST: gpu.request}
        return {contract.SHARED_GPU_LIMIT: gpu.limit} | request | memory
    old = {
        new: _taken(annotations[name]) if new in _AMOUNTS else annotations[name]
        for name, new in contract.KUBESHARE_1.items()
        if name in annotations
    }
    if not old:
        return {}
    # 2.0 requires a limit; for 1.0 a request is enough.
    return {contract.SHARED_GPU_LIMIT: old.get(contract.SHARED_GPU_REQUEST, "1.0")} | old


def _words_1(gpu: Gpu | None) -> Mapping[str, str]:
    """The annotations of 1.0, which requires the memory of a share. Raises Denied without it."""
    if not gpu or not gpu.request:
        return {}
    if gpu.memory is None:
        path = f"metadata.labels[{contract.GPU_MEMORY}]"
        raise Denied([Finding(path, "missing", "KubeShare 1.0 requires it for a share: 3Gi")])
    words = (gpu.limit, gpu.request, str(gpu.memory))
    return dict(zip(contract.KUBESHARE_1, words, strict=True))


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < _LONGEST else None


def _is_value(text: str) -> bool:
    if len(text) > _LONGEST_VALUE:  # its pattern takes quadratic time
        return False
    match = _VALUE.search(text)
    return match is not None and match[0] == text and _number(text) is not None


def _taken(text: str) -> str:
    """A number as 2.0 accepts it; 1.0 also accepts forms such as `.5` and `0`."""
    if _is_value(text):
        return text
    plain = f"{_number(text) or Decimal(0):f}"
    return plain if "." in plain else f"{plain}.0"


def _findings(labels: Mapping[str, str], path: str) -> Iterator[Finding]:
    """Why KubeShare 2.0 would leave a pod with these labels unscheduled."""
    amounts = {name: labels[name] for name in _AMOUNTS if name in labels}
    limit, request = (_number(labels.get(name, "")) for name in _AMOUNTS)
    if contract.SHARED_GPU_LIMIT not in labels and any(name in labels for name in _SHARE):
        yield Finding(f"{path}[{contract.SHARED_GPU_LIMIT}]", "missing", "KubeShare requires it")
    for name, text in amounts.items():
        if not _is_value(text):
            yield Finding(f"{path}[{name}]", f'"{text}" is refused by KubeShare', _TAKEN)
    if limit is not None and request is not None and (request > limit or request < limit > 1):
        what = f"{request} with the limit {limit}"
        allowed = "at most the limit, and above 1 the same"
        yield Finding(f"{path}[{contract.SHARED_GPU_REQUEST}]", what, allowed)
    for name, (pattern, allowed) in _OTHERS.items():
        if name in labels and not pattern.fullmatch(labels[name]):
            yield Finding(f"{path}[{name}]", f'"{labels[name]}"', allowed)
    absent = [name for name in contract.SHARED_GPU_GROUP if name not in labels]
    if 0 < len(absent) < len(contract.SHARED_GPU_GROUP):
        yield Finding(f"{path}[{absent[0]}]", "missing", "a group has a name, headcount, threshold")


_OTHERS: Final = {
    contract.SHARED_GPU_MEMORY: (re.compile(r"[0-9]{1,18}"), "whole bytes"),
    contract.SHARED_GPU_PRIORITY: (re.compile(r"-1|[0-9]{1,2}|100"), "0 (opportunistic) to 100"),
    contract.SHARED_GPU_GROUP[1]: (re.compile(r"0*[1-9][0-9]{0,8}"), "a whole number from 1"),
    contract.SHARED_GPU_GROUP[2]: (
        re.compile(r"(?=.*[1-9])[0-9]*\.?[0-9]+"),
        "the part of the group that must fit, such as 0.5",
    ),
}


def _old_findings(annotations: Mapping[str, str], path: str) -> Iterator[Finding]:
    """Why KubeShare 1.0 would refuse these annotations."""
    limit_name, request_name, memory_name = contract.KUBESHARE_1
    for name in (limit_name, request_name):
        share = _number(annotations.get(name, "0"))
        if share is None or not 0 <= share <= 1:
            yield Finding(f"{path}[{name}]", f'"{annotations[name]}"', "a share from 0 to 1.0")
    if not annotations.get(memory_name, "0").isdecimal():
        yield Finding(f"{path}[{memory_name}]", f'"{annotations[memory_name]}"', "whole bytes")
    limit, request = (_number(annotations.get(name, "")) for name in (limit_name, request_name))
    if limit is not None and request is not None and request > limit:
        what = f"{request} is above {limit}"
        yield Finding(f"{path}[{request_name}]", what, f"at most {limit_name}")
