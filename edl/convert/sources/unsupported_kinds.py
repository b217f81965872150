"""Kinds that `convert` does not convert, to be reported: training jobs, and custom resources.

If such a training job is applied again, its operator runs it, next to the converted Jobs.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from edl import contract
from edl.contract.manifest_parts import job_template, mapping
from edl.convert.diagnostics import Remark
from edl.convert.parts import object_metadata, other_schedulers
from edl.convert.source_kind import ApiKind, api_of
from edl.writes import Json

_NO_FRAMEWORK: Final = "has no framework here"
_UNREAD: Final[Mapping[ApiKind, str]] = {
    ("kubeflow.org", "XGBoostJob"): _NO_FRAMEWORK,
    ("kubeflow.org", "JAXJob"): _NO_FRAMEWORK,
    ("kubeflow.org", "ChainerJob"): _NO_FRAMEWORK,
    ("kubeflow.org", "Caffe2Job"): _NO_FRAMEWORK,
    ("kubeflow.org", "PaddleJob"): "with a Master has no mode here",
    ("xgboostjob.kubeflow.org", "XGBoostJob"): _NO_FRAMEWORK,
    ("trainer.kubeflow.org", "TrainJob"): "says its framework in a runtime, which is not read",
    ("mlkube.io", "TfJob"): "is older than what is read",
    ("tensorflow.org", "TfJob"): "is older than what is read",
    ("batch.paddlepaddle.org", "PaddleJob"): "of paddle-operator is not read",
    ("elasticdeeplearning.ai", "AITrainingJob"): "is not read",
    ("ray.io", "RayJob"): _NO_FRAMEWORK,
    ("batch.volcano.sh", "Job"): "of Volcano is not read",
    ("jobset.x-k8s.io", "JobSet"): "names no framework and is not supported",
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): "names no framework and is not supported",
    ("workload.codeflare.dev", "AppWrapper"): "is not opened",
}
"""The reason, by API group and kind; only training jobs are listed."""
_QUEUED: Final = frozenset({("batch", "Job"), ("batch", "CronJob"), ("", "Pod")})
"""Kinds that other schedulers queue and that kubectl-edl can manage."""
_BUILT_IN: Final = frozenset(
    {
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    }
)
"""API groups of Kubernetes itself below `k8s.io`; those without a dot are its own as well."""
_WAY_OUT: Final = "its operator would run it: leave it out, or write its Jobs yourself"


def remark(group: str, kind: str) -> Remark | None:
    """The remark on a kind that is not converted; None for kinds that are not listed."""
    why = _UNREAD.get((group, kind))
    return Remark(("kind",), f"{kind} {why}: left as it is", _WAY_OUT) if why else None


def unread_resource(document: Json) -> Remark | None:
    """The remark on a custom resource; None for kinds of Kubernetes, which need no conversion."""
    (group, kind), _ = api_of(document)
    if "." not in group or group.removesuffix(".k8s.io") in _BUILT_IN:
        return None
    return Remark(("kind",), f"{kind} of {group} is not converted: left as it is")


def queued_elsewhere(api: ApiKind, document: Json) -> Iterator[Remark]:
    """Notes on a workload that stays in the queues of Kueue or of another scheduler."""
    if api not in _QUEUED:
        return
    labels = _labels(document)
    if contract.KUEUE_QUEUE in labels:
        what = f"{api[1]} stays in Kueue's queue: left as it is"
        adding = "" if contract.FRAMEWORK in labels else f" and add {contract.FRAMEWORK}"
        instead = f"for kubectl-edl, remove this label{adding}"
        yield Remark(("metadata", "labels", contract.KUEUE_QUEUE), what, instead)
    for remark in other_schedulers.of_workload(document):
        instead = f"for kubectl-edl: {remark.instead}"
        yield Remark(remark.place, f"{remark.what}: left as it is", instead)
    job, place = document, tuple[str, ...]()
    if api[1] == "CronJob":
        job, place = job_template(document) or {}, ("spec", "jobTemplate")
    template = mapping(mapping(job.get("spec")).get("template"))
    shared = any(str(name).startswith("sharedgpu/") for name in _labels(template))
    scheduler = mapping(template.get("spec")).get("schedulerName")
    placed = shared or scheduler == contract.KUBESHARE_SCHEDULER
    owners = mapping(document.get("metadata")).get("ownerReferences")
    ended = object_metadata.end(document.get("status"))
    if placed and not (contract.FRAMEWORK in _labels(job) or owners or ended):
        what = "KubeShare places its pods, but no label makes it elastic: left as it is"
        instead = "for kubectl-edl: kubectl edl adopt -f FILE --framework none"
        yield Remark((*place, "spec", "template"), what, instead)


def _labels(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(part.get("metadata")).get("labels"))
