"""Custom resources of the systems that kubectl-edl replaces, as labelled Jobs. Pure.

`SOURCES` are the kinds that are read, `unread` those of which there is only something to say;
everything else is none of ours.
"""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.convert import (
    etjob,
    etscale,
    hosts,
    kubeflow_paddle,
    kubeshare,
    mpijob,
    mxjob,
    paddlejob,
    pytorchjob,
    tfjob,
    unread,
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
    kubeflow_paddle.SOURCE,
    paddlejob.SOURCE,
    kubeshare.SHARE_POD,
    kubeshare.POD,
)


def convert(document: Json) -> Converted | None:
    """The Jobs that say what `document` said; None for a kind that is not ours to convert.

    Raises Malformed with every reason why it cannot be.
    """
    group, _, version = str(document.get("apiVersion") or "").rpartition("/")
    kind = str(document.get("kind"))
    source = _source_of((group, kind), document)
    if source and version in source.versions:
        return _read(source, document)
    remark = _unknown(source, group, version) if source else unread.remark(group, kind)
    return Converted((document,), dropped=(remark,)) if remark else None


def _source_of(api: tuple[str, str], document: Json) -> Source | None:
    return next((one for one in SOURCES if api in one.apis and one.fits(document)), None)


def _unknown(source: Source, group: str, version: str) -> Remark:
    known = ", ".join(f"{group}/{one}" for one in source.versions)
    what = f"unknown version {version}: left as it is"
    return Remark(("apiVersion",), what, f"known: {known}")


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
