"""docs/reference/outputs.md: every field of every output document."""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from dev.reference import table
from kubectl_edl.output.documents import API_VERSION, KINDS
from kubectl_edl.output.documents.cluster_documents import (
    CheckReportDocument,
    ClusterUsageDocument,
    NodeUsageDocument,
    VersionDocument,
)
from kubectl_edl.output.documents.decision_documents import (
    PlanDocument,
    TrainingJobExplanationDocument,
)
from kubectl_edl.output.documents.simulation_documents import SimulationDocument, WhatIfDocument
from kubectl_edl.output.documents.team_documents import TeamDocument
from kubectl_edl.output.documents.training_job_documents import (
    QueuedTrainingJobDocument,
    TrainingJobDetailDocument,
    TrainingJobHistoryDocument,
    TrainingJobUsageDocument,
)


class DocumentKind(NamedTuple):
    """The shape of a document, and the commands that print it, alone or as items of a list."""

    kind: str
    shape: type
    alone: str = ""
    listed: str = ""


OUTPUTS: Final = (
    DocumentKind("TrainingJob", TrainingJobDetailDocument, "status JOB", "status"),
    DocumentKind("QueuedTrainingJob", QueuedTrainingJobDocument, listed="queue"),
    DocumentKind("Team", TeamDocument, listed="teams"),
    DocumentKind("Plan", PlanDocument, "plan"),
    DocumentKind("TrainingJobExplanation", TrainingJobExplanationDocument, "explain JOB"),
    DocumentKind("TrainingJobHistory", TrainingJobHistoryDocument, "history JOB"),
    DocumentKind("TrainingJobUsage", TrainingJobUsageDocument, "top jobs JOB", "top jobs"),
    DocumentKind("NodeUsage", NodeUsageDocument, listed="top nodes"),
    DocumentKind("ClusterUsage", ClusterUsageDocument, "top cluster"),
    DocumentKind("Simulation", SimulationDocument, listed="simulate -f FILE"),
    DocumentKind("WhatIf", WhatIfDocument, listed="simulate --live"),
    DocumentKind("CheckReport", CheckReportDocument, "doctor"),
    DocumentKind("Version", VersionDocument, "version"),
)
_HEAD: Final = """# Outputs for programs

What `-o json` and `-o yaml` print, and what `-o jsonpath=…` and `-o custom-columns=…` choose
from. `-o name` prints `job.batch/NAME` for each Job of a training job, which kubectl accepts.

Every document has `apiVersion: edl.dev/v1alpha1` and a `kind`; a list has `items`. Times are
RFC 3339 in UTC; durations are numbers of seconds, in fields that end in `Seconds`. A field that is
not known is `null`, unless the table says that it may be missing. `kubectl edl events` and the
commands that change Jobs print Kubernetes' own objects.

"""
_PLAIN: Final = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "any"}


def page() -> str:
    return _HEAD + "\n".join(map(_section, OUTPUTS))


def _section(output: DocumentKind) -> str:
    head = (("`apiVersion`", f"`{API_VERSION}`", ""), ("`kind`", f"`{output.kind}`", ""))
    fields = table(("FIELD", "TYPE", "MEANING"), (*head, *_fields("", output.shape)))
    return f"## {output.kind}\n\n{_printed(output)}\n\n{fields}"


def _printed(output: DocumentKind) -> str:
    said = [f"`kubectl edl {output.alone}` prints it."] if output.alone else []
    if output.listed:
        said.append(f"`kubectl edl {output.listed}` prints a `{output.kind}List` of them.")
    if output.shape is TrainingJobDetailDocument:
        said.append("In the list `topology`, `events`, `operations` and `blockers` are missing.")
    return " ".join(said)


def _fields(above: str, shape: type) -> Iterator[tuple[str, str, str]]:
    """(path, type, meaning) of each field; the fields of an object follow it, with longer paths."""
    hints = get_type_hints(shape, include_extras=True)
    for name, hint in hints.items():
        path = f"{above}{name}"
        found = get_args(hint)[0] if get_origin(hint) is Required else hint
        kind, text = _kind(found), _text(found)
        inner, suffix = _object(found)
        if text or not inner:
            missing = " May be missing." * (name in vars(shape)["__optional_keys__"])
            yield f"`{path}`", kind, f"{text}{missing}"
        if inner:
            yield from _fields(f"{path}{suffix}.", inner)


def _text(hint: Any) -> str:  # noqa: ANN401 - a type
    """The field's description, followed by the values of its enumeration, or its types' names."""
    extras = getattr(hint, "__metadata__", ())
    texts = [one for one in extras if isinstance(one, str) and one not in KINDS]
    enums = [one for one in extras if isinstance(one, type) and issubclass(one, Enum)]
    values = [one.value for enum in enums for one in enum]
    values += [kind.__name__ for one in extras for kind in get_args(one)]
    listed = f" One of {', '.join(f'`{value}`' for value in values)}." if values else ""
    return f"{' '.join(texts)}{listed}"


def _kind(hint: Any) -> str:  # noqa: ANN401 - a type
    """The type in words: `string`, `integer or null`, `list of objects`, `map of quantities`."""
    for extra in getattr(hint, "__metadata__", ()):
        if extra in KINDS:
            return f"{extra} or null" if _is_nullable(hint) else str(extra)
    form = _FORMS.get(get_origin(hint))
    if form is not None:
        return form(get_args(hint))
    return "object" if is_typeddict(hint) else _PLAIN[hint]


def _nullable(args: tuple[Any, ...]) -> str:
    return f"{' or '.join(_kind(one) for one in args if one is not NoneType)} or null"


_FORMS: Final[Mapping[Any, Callable[[tuple[Any, ...]], str]]] = {
    Annotated: lambda args: _kind(args[0]),
    Union: _nullable,
    UnionType: _nullable,
    list: lambda args: f"list of {_kind(args[0])}",
    dict: lambda args: f"map of {_kind(args[1])}",
}


def _is_nullable(hint: Any) -> bool:  # noqa: ANN401 - a type
    return get_origin(get_args(hint)[0]) in (Union, UnionType)


def _object(hint: Any) -> tuple[type | None, str]:  # noqa: ANN401 - a type
    """The object type inside a field, if any, and its path: `[]` in a list, `.KEY` in a map."""
    if is_typeddict(hint):
        return hint, ""
    for one, suffix in zip(get_args(hint), ("", ".KEY"), strict=False):
        inner, below = _object(one)
        if inner:
            own = "[]" if get_origin(hint) is list else suffix
            return inner, f"{own}{below}"
    return None, ""
