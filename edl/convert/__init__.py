"""Custom resources of the systems that kubectl-edl replaces, as labelled Jobs. Pure.

`SOURCES` are the kinds that are known; everything else is none of ours.
"""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.convert import (
    etjob,
    etscale,
    hosts,
    kubeshare,
    mpijob,
    mxjob,
    paddlejob,
    pytorchjob,
    tfjob,
)
from edl.convert.fields import Fields, Report
from edl.convert.remarks import Malformed, Remark
from edl.convert.source import Converted, Source
from edl.errors import Denied
from edl.parse import parse
from edl.writes import Json

SOURCES: Final[tuple[Source, ...]] = (
    tfjob.SOURCE,
    pytorchjob.SOURCE,
    mpijob.SOURCE,
    mxjob.SOURCE,
    etjob.SOURCE,
    etscale.IN,
    etscale.OUT,
    paddlejob.SOURCE,
    kubeshare.SHARE_POD,
    kubeshare.POD,
)


def convert(document: Json) -> Converted | None:
    """The Jobs that say what `document` said; None for a kind that is not ours to convert.

    Raises Malformed with every reason why it cannot be.
    """
    source = _source_of(document)
    if source is None:
        return None
    group, _, version = str(document["apiVersion"]).rpartition("/")
    if version not in source.versions:
        known = ", ".join(f"{group}/{one}" for one in source.versions)
        remark = Remark(
            ("apiVersion",), f"unknown version {version}: left as it is", f"known: {known}"
        )
        return Converted((document,), dropped=(remark,))
    return _read(source, document)


def _source_of(document: Json) -> Source | None:
    group = str(document.get("apiVersion") or "").rpartition("/")[0]
    api = (group, document.get("kind"))
    fitting = (one for one in SOURCES if api in one.apis and one.fits(document))
    return next(fitting, None)


def _read(source: Source, document: Json) -> Converted:
    report = Report()
    fields = Fields(document, (), report)
    fields.value("apiVersion")
    fields.value("kind")
    manifests = tuple(source.read(fields))
    if not report.wrong:
        report.wrong.extend(_refusals(manifests))
    if report.wrong:
        raise Malformed(report.wrong)
    report.finish()
    name = str((document.get("metadata") or {}).get("name") or "")
    report.notes.extend(hosts.remarks(name, manifests))
    return Converted(manifests, tuple(report.dropped), tuple(report.notes))


def _refusals(manifests: Sequence[Json]) -> list[Remark]:
    """What the webhook would say of the Jobs."""
    remarks = []
    for manifest in manifests:
        metadata = manifest["metadata"]
        if contract.FRAMEWORK not in (metadata.get("labels") or {}):
            continue
        try:
            parse(manifest)
        except Denied as denied:
            name = metadata.get("name", "")
            remarks += [Remark((), f"as Job {name}: {finding}") for finding in denied.findings]
    return remarks
