"""Annotations that only kubectl-edl may write, on an object and its pod template."""

from edl.contract.manifest_parts import annotations, template, with_metadata, with_spec
from edl.contract.registry import OWNED_ANNOTATIONS
from edl.writes import Json


def without_owned(manifest: Json) -> Json:
    """The manifest without annotations that only we may write, on the object and its template."""
    clean, pods = _without(manifest), template(manifest)
    return with_spec(clean, template=_without(pods)) if pods else clean


def _without(part: Json) -> Json:
    before = annotations(part)
    after = {name: text for name, text in before.items() if name not in OWNED_ANNOTATIONS}
    return part if len(after) == len(before) else with_metadata(part, annotations=after)


def with_owned_of(part: Json, old: Json) -> Json:
    """An object or a template with such annotations of `old`, and with none of its own."""
    mine = {name: text for name, text in annotations(part).items() if name not in OWNED_ANNOTATIONS}
    ours = {name: text for name, text in annotations(old).items() if name in OWNED_ANNOTATIONS}
    same = mine | ours == annotations(part)
    return part if same else with_metadata(part, annotations=mine | ours)


def forgery_warnings(given: Json, stored: Json) -> tuple[str, ...]:
    """A warning for each annotation of ours whose given value is not stored."""
    pairs = (
        (annotations(given), annotations(stored)),
        (annotations(template(given)), annotations(template(stored))),
    )
    names = sorted(
        name
        for before, after in pairs
        for name in OWNED_ANNOTATIONS & before.keys()
        if after.get(name) != before[name]
    )
    return tuple(f"{name} is written only by kubectl-edl: your value was dropped" for name in names)
