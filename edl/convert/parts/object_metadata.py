"""The part of a source object's metadata that its Jobs inherit."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from edl import contract
from edl.contract.manifest_parts import mapping
from edl.convert import template_schema
from edl.convert.diagnostics import FieldPath, Remark
from edl.convert.parts import other_schedulers
from edl.convert.tracked_object import Fields
from edl.writes import Json

_SERVERS: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "clusterName",
)
"""Fields that only the API server writes; `kubectl get -o yaml` prints them."""
_ENDS: Final = frozenset({"succeeded", "succeed", "failed", "done", "complete", "completed"})
"""Phases and condition types by which the source operators report a finished job."""


class SourceMetadata(msgspec.Struct, frozen=True):
    """Metadata that each Job inherits; `others` are fields that are copied as they are."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    others: Mapping[str, Any]
    interpreted: Mapping[str, str]
    """Annotations that the source kind's module interprets; the Jobs do not inherit them."""
    annotated: Fields
    """The annotations, for reporting remarks at their paths."""
    fields: Fields
    """The whole metadata, for reporting remarks."""

    def of(self, name: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Json:
        """A Job's metadata: the source's, with these labels and annotations added."""
        fields: Json = {"name": name} if name else {}
        if self.namespace:
            fields["namespace"] = self.namespace
        fields |= self.others
        for place, values in (
            ("labels", {**self.labels, **labels}),
            ("annotations", {**self.annotations, **annotations}),
        ):
            if values:
                fields[place] = values
        return fields


def read(document: Fields, interpreted: Sequence[str] = ()) -> SourceMetadata:
    """Read the object's metadata; `interpreted`: annotations that the source's module reads.

    The status describes the old object, so it is left out, which is reported.
    """
    ended = end(document.value("status"))
    if ended:
        way_out = "leave it out where it must not run again"
        document.note("status", f"it has ended ({ended}), and its Jobs start over", way_out)
    elif document.has("status"):
        document.note("", "left out status: describes the old object")
    metadata = document.fields("metadata")
    _leave_out(metadata, _SERVERS, "written by the API server")
    metadata.drop("finalizers", instead="they belong to the old operator")
    annotated = metadata.fields("annotations")
    _leave_out(annotated, (contract.LAST_APPLIED,), "written by kubectl apply")
    # `interpreted` annotations are taken first: each Job inherits the rest.
    texts = {name: annotated.text(name) for name in interpreted if name in annotated.names()}
    _drop_queues(annotated)
    return SourceMetadata(
        name=metadata.text("name"),
        namespace=metadata.text("namespace"),
        labels=_labels(metadata.fields("labels")),
        interpreted=texts,
        annotations=_checked(annotated, template_schema.annotations),
        annotated=annotated,
        fields=metadata,
        others={
            name: value
            for name in ("generateName", "ownerReferences")
            if (value := metadata.value(name)) is not None
        },
    )


def end(status: Any, words: Collection[str] = _ENDS) -> str:  # noqa: ANN401 - JSON
    """The status word, one of `words`, by which the old object ended; empty if it has not ended."""
    entries = mapping(status)
    conditions = entries.get("conditions")
    states = [entries.get("phase"), entries.get("state"), entries.get("launcherStatus")]
    states += [
        condition.get("type")
        for condition in (conditions if isinstance(conditions, list) else ())
        if isinstance(condition, dict) and condition.get("status") == "True"
    ]
    return next((str(word) for word in states if str(word).lower() in words), "")


def _leave_out(fields: Fields, names: Sequence[str], why: str) -> None:
    present = [name for name in names if fields.value(name) is not None]
    if present:
        fields.note("", f"left out {', '.join(present)}: {why}")


def _labels(fields: Fields) -> Mapping[str, str]:
    fields.drop(
        contract.KUEUE_QUEUE, instead="kubectl-edl queues the Job; a PriorityClass orders it"
    )
    _drop_queues(fields)
    return _checked(fields, template_schema.labels)


def _drop_queues(fields: Fields) -> None:
    """Drop what assigns the object to another scheduler's queues, apart from its priority."""
    for name in fields.names():
        if name != contract.KUEUE_PRIORITY_CLASS:
            lost = other_schedulers.lost(name, fields.peek_text(name))
            if lost:
                fields.drop(name, lost.what, lost.instead)


def _checked(
    fields: Fields, rule: Callable[[Mapping[str, str], FieldPath], Iterator[Remark]]
) -> Mapping[str, str]:
    """Texts by name, after reporting what the API server would refuse."""
    texts = {name: fields.text(name) for name in fields.names()}
    for remark in rule(texts, ()):
        fields.wrong(remark.place, remark.what, remark.instead)
    return texts
