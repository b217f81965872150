"""What templates know of the replaced system: its operator's labels, and its scheduler."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from edl import contract
from edl.contract.manifest_parts import labels
from edl.convert.diagnostics import FieldPath
from edl.convert.parts import other_schedulers
from edl.convert.tracked_object import Fields
from edl.writes import Json

_KUBEFLOW: Final = "training.kubeflow.org/"
_JOB: Final = f"use the label {contract.JOB}, which has the name of the training job"
_ROLE: Final = f"use the label {contract.ROLE}"
_INDEX: Final = f"use the variable {contract.COMPLETION_INDEX_ENV}"
_OPERATORS: Final[Mapping[str, str]] = {
    f"{_KUBEFLOW}job-name": _JOB,
    f"{_KUBEFLOW}operator-name": _JOB,
    f"{_KUBEFLOW}job-role": _ROLE,
    f"{_KUBEFLOW}replica-type": _ROLE,
    f"{_KUBEFLOW}replica-index": _INDEX,
    # Kubeflow's common library, tf-operator, pytorch-operator, mxnet-operator
    "group-name": _JOB,
    "controller-name": _JOB,
    "job-role": _ROLE,
    **{f"{kind}job-name": _JOB for kind in ("tf-", "pytorch-", "mxnet-")},
    **{f"{kind}replica-type": _ROLE for kind in ("", "tf-", "pytorch-", "mxnet-")},
    **{f"{kind}replica-index": _INDEX for kind in ("", "tf-", "pytorch-", "mxnet-")},
    # mpi-operator: pkg/controller/mpi_job_controller.go
    "group_name": _JOB,
    "mpi_job_name": _JOB,
    "mpi-job-name": _JOB,
    "mpi_role_type": _ROLE,
    "mpi-job-role": _ROLE,
    # et-operator: pkg/controllers/trainingjob_controller.go
    "training-job-name": _JOB,
    "training-job-role": _ROLE,
}
"""Labels that operators set on their pods, and what replaces each. Not `job-name`: Jobs set it."""
_FIELD: Final = re.compile(r"metadata\.labels\['(.+)'\]")
_LABEL_KEYS: Final = ("matchLabelKeys", "mismatchLabelKeys")
_PREFIXED: Final = re.compile(rf"{re.escape(_KUBEFLOW)}[a-z-]+")


def report(fields: Fields, name: str, template: Json) -> None:
    """Report what the template in field `name` refers to, and its pods do not have here."""
    existing = labels(template)
    reported = set()
    for place, label in _labels(template.get("spec"), (name, "spec")):
        if label not in reported and label not in existing:
            what = f'the operator set the label "{label}", and pods do not have it here'
            fields.lose(place, what, _OPERATORS[label])
        reported.add(label)
    for setting in other_schedulers.of_template(template, (name,)):
        place, what, instead = setting.remark.place, setting.remark.what, setting.remark.instead
        if setting.is_lost:
            fields.lose(place, what, instead)
        else:
            fields.note(place, what, instead)


def _labels(part: Any, place: FieldPath) -> Iterator[tuple[FieldPath, str]]:  # noqa: ANN401 - JSON
    """Operators' labels in the part's keys and texts, with the field that says them."""
    if isinstance(part, str):
        yield from ((place, label) for label in _in_text(part, selects=_is_key(place)))
    elif isinstance(part, dict):
        selects = place[-2:] == ("labelSelector", "matchLabels")
        for key, inner in part.items():
            here = (*place, key)
            yield from ((here, label) for label in _in_text(str(key), selects=selects))
            yield from _labels(inner, here)
    elif isinstance(part, list):
        for index, inner in enumerate(part):
            yield from _labels(inner, (*place, index))


def _is_key(place: FieldPath) -> bool:
    """Whether the text there is the key of a label of pods. Nodes and namespaces have others."""
    expression = place[-4:-2] == ("labelSelector", "matchExpressions") and place[-1] == "key"
    return expression or place[-2] in _LABEL_KEYS


def _in_text(text: str, *, selects: bool) -> Iterator[str]:
    """A name without prefix, such as `job-role`, is a label only where one must be."""
    field = _FIELD.fullmatch(text)
    whole = field[1] if field else text
    candidates = [whole] if field or selects else _PREFIXED.findall(text)
    return (label for label in candidates if label in _OPERATORS)
