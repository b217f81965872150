"""Finds labels and annotations of ours that have no effect: misspelt, or on the wrong object."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from edl import contract
from edl.errors import Denied, Forbidden
from edl.inject import update_policy
from edl.inject.manifest_schema import is_labelled
from edl.inject.warnings import unknown_keys
from edl.kube.cluster import ListOptions
from edl.parsing import namespace_policy
from edl.writes import Json
from kubectl_edl.doctor.checks.check import (
    Diagnoses,
    Diagnosis,
    FixCommand,
    Patient,
    first,
    warning,
)
from kubectl_edl.resources.source_manifest import controller_of, has_ended

_NAMESPACES: Final = ListOptions("Namespace")
_PODS: Final = f"!{contract.JOB_NAME_LABEL}"
"""Excludes pods of Jobs, which have the labels of the Job's template."""


def unheeded(patient: Patient) -> Diagnoses:
    """Keys on Jobs and bare pods: the webhook's warnings reach only users who apply by hand."""
    yield from first(
        list(_said(patient, "Job", "")), FixCommand("kubectl get jobs -A --show-labels")
    )
    yield from first(
        list(_said(patient, "Pod", _PODS)), FixCommand("kubectl get pods -A --show-labels")
    )


def cron_jobs(patient: Patient) -> Diagnoses:
    """Keys on CronJobs and in their templates, which no webhook reviews."""
    yield from first(list(_of_cron_jobs(patient)), FixCommand("kubectl get cronjobs -A"))


def namespaces(patient: Patient) -> Diagnoses:
    """Invalid namespace settings that were stored while no webhook reviewed them."""
    said = [
        warning(
            f"namespace {manifest['metadata']['name']} {finding}",
            FixCommand(f"kubectl edit namespace {manifest['metadata']['name']}"),
        )
        for manifest in map(json.loads, patient.connection.cluster.list(_NAMESPACES).items)
        for finding in namespace_policy.problems(manifest)
    ]
    yield from first(said, FixCommand("kubectl get namespaces -o yaml"))


def _said(patient: Patient, kind: str, labels: str) -> Iterator[Diagnosis]:
    for manifest in _listed(patient, kind, labels):
        told = unknown_keys.on_stored(manifest)
        if told and not has_ended(manifest) and not controller_of(manifest):
            yield _slip(kind, manifest, told, _mend(manifest))


def _mend(manifest: Json) -> str:
    if update_policy.is_released(manifest):
        return "take them out of its manifest: kubectl edl release -f FILE | kubectl apply -f -"
    again = "apply" if _may_change(manifest) else "replace --force"
    return f"correct its manifest, then: kubectl {again} -f FILE"


def _may_change(manifest: Json) -> bool:
    """Whether the corrected object can be applied, or has to be recreated."""
    if not is_labelled(manifest):
        return False
    meant = unknown_keys.corrected(manifest)
    try:
        update_policy.check_identity(meant, manifest)
        update_policy.check(meant, manifest, namespace_policy.SILENT)
    except Denied:
        return False
    return True


def _of_cron_jobs(patient: Patient) -> Iterator[Diagnosis]:
    for manifest in _listed(patient, "CronJob"):
        metadata, template = manifest["metadata"], manifest["spec"].get("jobTemplate") or {}
        if said := unknown_keys.on_cron_job(manifest):
            where = f"-n {metadata['namespace']}{patient.flags}"
            move = FixCommand(
                f"kubectl get cronjob {metadata['name']} {where} -o yaml "
                "| kubectl edl adopt -f - | kubectl apply -f -"
            )
            yield _slip("CronJob", manifest, (said,), move)
        if told := unknown_keys.on_creation(template | {"kind": "Job"}):
            mend = "correct spec.jobTemplate.metadata of its manifest, then: kubectl apply -f FILE"
            yield _slip("CronJob", manifest, told, mend)


def _slip(kind: str, manifest: Json, told: Sequence[str], fix: str) -> Diagnosis:
    metadata = manifest["metadata"]
    return warning(f"{kind} {metadata['namespace']}/{metadata['name']}: {'; '.join(told)}", fix)


def _listed(patient: Patient, kind: str, labels: str = "") -> list[Json]:
    """Objects of all namespaces, else of the user's own; none if listing both is forbidden."""
    connection = patient.connection
    for namespace in dict.fromkeys((connection.scope.namespace, connection.namespace)):
        with suppress(Forbidden):
            items = connection.cluster.list(ListOptions(kind, namespace, labels)).items
            return [json.loads(item) for item in items]
    return []
