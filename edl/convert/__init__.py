"""Converts custom resources of the systems that kubectl-edl replaces into labelled Jobs. Pure.

`SOURCES` lists the kinds that are converted. `unsupported_kinds` lists kinds that are only
reported. Any other document passes through unchanged. Queues become teams, and because queues
refer to each other, `edl.convert.queues` reads all of them together.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations, is_paused, labels, metadata
from edl.convert.diagnostics import Malformed, Remark, refusals
from edl.convert.parts import hostname_hints
from edl.convert.queues.queue_conversion import unread_version
from edl.convert.source_kind import ApiKind, Converted, SourceKind, api_of, unknown_version
from edl.convert.sources import (
    et_operator_job,
    kubeflow_paddle,
    kubeshare_pods,
    mpijob,
    mxjob,
    paddlejob,
    pytorchjob,
    tfjob,
    unsupported_kinds,
    workload_priorities,
)
from edl.convert.tracked_object import ConversionReport, Fields
from edl.frameworks import success_policy
from edl.parsing.parser import parse
from edl.spec import index_rules
from edl.writes import Json

SOURCES: Final[tuple[SourceKind, ...]] = (
    tfjob.SOURCE,
    pytorchjob.SOURCE,
    mpijob.SOURCE,
    mxjob.SOURCE,
    et_operator_job.SOURCE,
    et_operator_job.IN,
    et_operator_job.OUT,
    kubeflow_paddle.SOURCE,
    paddlejob.SOURCE,
    kubeshare_pods.SHARE_POD,
    kubeshare_pods.POD,
    workload_priorities.SOURCE,
)


def convert(document: Json, priority_classes: Collection[str] = ()) -> Converted | None:
    """The Jobs that replace `document`; None for a kind that needs no conversion.

    `priority_classes` are known to exist where the Jobs will be applied. Raises Malformed with
    every reason for which it cannot be converted.
    """
    api, version = api_of(document)
    source = _source_of(api, document)
    if source and version in source.versions:
        return _read(source, document, priority_classes)
    if not version:
        remark = _unversioned(api[1])
    elif source:
        remark = unknown_version(api, version, source.versions)
    else:
        remark = unread_version(api, version) or unsupported_kinds.remark(*api)
    if remark:
        return Converted((document,), dropped=(remark,))
    notes = tuple(unsupported_kinds.queued_elsewhere(api, document))
    return Converted((document,), notes=notes) if notes else None


def _source_of(api: ApiKind, document: Json) -> SourceKind | None:
    return next((one for one in SOURCES if api in one.apis and one.fits(document)), None)


def _unversioned(kind: str) -> Remark | None:
    """The remark on a document without apiVersion; None for a kind that Kubernetes itself has."""
    versions = [
        f"{group}/{version}"
        for source in SOURCES
        for group, name in source.apis
        if group and name == kind
        for version in source.versions
    ]
    if not versions:
        return None
    ways = ", ".join(dict.fromkeys(versions))
    return Remark(("apiVersion",), "is missing: left as it is", f"known of {kind}: {ways}")


def _read(source: SourceKind, document: Json, priority_classes: Collection[str]) -> Converted:
    report = ConversionReport()
    fields = Fields(document, (), report)
    fields.value("apiVersion")
    fields.value("kind")
    manifests, lost = workload_priorities.moved(source.read(fields), priority_classes)
    for manifest in manifests if not report.wrong else ():
        if contract.FRAMEWORK in labels(manifest):
            report.wrong.extend(refusals(manifest, parse))
    if report.wrong:
        raise Malformed(report.wrong)
    report.dropped.extend(lost)
    report.finish()
    name = str(metadata(document).get("name") or "")
    jobs = [manifest for manifest in manifests if manifest["kind"] == "Job"]
    report.notes.extend(hostname_hints.remarks(name, jobs))
    report.notes.extend(_ended_pods(jobs))
    if contract.KUEUE_QUEUE in labels(document) and any(map(is_paused, jobs)):
        report.notes.append(_suspended_by_kueue(name))
    return Converted(manifests, tuple(report.dropped), tuple(report.notes))


def _ended_pods(jobs: Iterable[Json]) -> Iterator[Remark]:
    """Pods that the source's clean-up policy keeps, and that end with their own Job here."""
    for job in jobs:
        if annotations(job).get(contract.CLEAN_UP) == contract.CleanUp.NONE:
            spec = parse(job)
            decides = bool(success_policy(job, spec))
            if index_rules.ends_its_own_pods(job, spec, decides=decides):
                yield Remark((), f"cleanPodPolicy: {index_rules.OWN_PODS}")


def _suspended_by_kueue(name: str) -> Remark:
    what = "Kueue suspends what waits in its queues, and here it means paused"
    return Remark(("spec", "runPolicy", "suspend"), what, f"it starts by kubectl edl resume {name}")
