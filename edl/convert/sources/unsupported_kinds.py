"""Training jobs of these systems that `convert` does not convert: listed to be reported.

If such a document is applied again, its operator runs it, next to the converted Jobs.
"""

from collections.abc import Mapping
from typing import Final

from edl import contract
from edl.convert.diagnostics import Remark
from edl.writes import Json

_NO_FRAMEWORK: Final = "has no framework here"
_UNREAD: Final[Mapping[tuple[str, str], str]] = {
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
}
"""The reason, by API group and kind; only training jobs are listed."""
_QUEUED: Final = frozenset({("batch", "Job"), ("batch", "CronJob"), ("", "Pod")})
"""Kinds that Kueue queues and that kubectl-edl can manage."""
_WAY_OUT: Final = "its operator would run it: leave it out, or write its Jobs yourself"


def remark(group: str, kind: str) -> Remark | None:
    """The remark on a kind that is not converted; None for kinds that are not listed."""
    why = _UNREAD.get((group, kind))
    return Remark(("kind",), f"{kind} {why}: left as it is", _WAY_OUT) if why else None


def queued_by_kueue(group: str, document: Json) -> Remark | None:
    """The note on a workload with Kueue's queue label, which stays in Kueue's queue."""
    kind = str(document.get("kind"))
    if (group, kind) not in _QUEUED:
        return None
    metadata = document.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(labels, dict) or contract.KUEUE_QUEUE not in labels:
        return None
    what = f"{kind} stays in Kueue's queue: left as it is"
    adding = "" if contract.FRAMEWORK in labels else f" and add {contract.FRAMEWORK}"
    instead = f"for kubectl-edl, remove this label{adding}"
    return Remark(("metadata", "labels", contract.KUEUE_QUEUE), what, instead)
