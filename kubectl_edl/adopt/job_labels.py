"""Adds kubectl-edl's labels and annotations to a manifest. Pure."""

import shlex
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields
from typing import Final

import click

from edl import contract
from edl.contract.manifest_parts import JOB_TEMPLATE, has_our_prefix, made_job
from edl.errors import Denied, Finding, refuse
from edl.frameworks import FRAMEWORKS
from edl.inject import other_controllers
from edl.inject.manifest_schema import is_labelled
from edl.kube.option_group import option, option_group
from edl.parsing.parser import parse
from edl.writes import Json
from kubectl_edl.resources.manifest_items import prefixed, titled

_LABELS: Final[Mapping[str, str]] = {
    "framework": contract.FRAMEWORK,
    "job": contract.JOB,
    "role": contract.ROLE,
    "min": contract.MIN,
    "max": contract.MAX,
    "gpu": contract.GPU,
}
_ANNOTATIONS: Final[Mapping[str, str]] = {"roles": contract.ROLES, "mode": contract.MODE}


@option_group
class LabelOptions:
    """Labels and annotations from the command line; empty fields were not given."""

    framework: str = option(
        type=click.Choice(tuple(FRAMEWORKS)),
        help="Framework; required unless the manifest has its label.",
    )
    min: str = option(metavar="N", help="Minimum replicas; defaults to parallelism.")
    max: str = option(metavar="N", help="Maximum replicas; defaults to parallelism.")
    job: str = option(help="Name of the training job, if several Jobs form one.")
    role: str = option(help="Role of the Job; defaults to the framework's worker role.")
    roles: str = option(
        metavar="ALL_ROLES", help="All roles of the training job: chief=1,ps=2,worker=1..12."
    )
    mode: str = option(help="Mode of the framework.")
    gpu: str = option(metavar="N", help="GPUs per pod: 2, or a share such as 0.5.")

    @property
    def flags(self) -> str:
        """These options as written on a command line: `--framework horovod --min 2`."""
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return " ".join(f"--{name} {shlex.quote(value)}" for name, value in given if value)


def labelled(manifest: Json, labels: LabelOptions) -> Json:
    """A labelled Job, CronJob or bare pod; raises Denied with every finding."""
    changed: Json = deepcopy(manifest)
    # A CronJob's Jobs inherit from its jobTemplate.
    target = changed["spec"]["jobTemplate"] if changed.get("kind") == "CronJob" else changed
    metadata = target.setdefault("metadata", {}) or {}
    target["metadata"] = metadata
    if target is not changed:
        _move(changed.get("metadata") or {}, metadata)
    template = (target.get("spec") or {}).get("template") or {}
    if is_labelled(template) and not is_labelled(target):
        # The API server selects a Job for the webhook by the Job's own labels.
        _move(template["metadata"], metadata)
    for place, values in _settings(metadata, labels).items():
        _put(metadata, place, values)
    _check(target, changed)
    return changed


def changes(manifest: Json, labels: LabelOptions) -> bool:
    """Whether the options change any label or annotation of a Job."""
    metadata = manifest["metadata"]
    return any(
        values.items() - (metadata.get(place) or {}).items()
        for place, values in _settings(metadata, labels).items()
    )


def _settings(metadata: Json, labels: LabelOptions) -> dict[str, dict[str, str]]:
    """The chosen labels and annotations of a Job with this metadata."""
    return {
        "labels": _chosen(_LABELS, labels) | _role(metadata.get("name", ""), labels),
        "annotations": _chosen(_ANNOTATIONS, labels),
    }


def _move(source: Json, metadata: Json) -> None:
    """Move our labels and annotations from metadata where they have no effect to a Job's own."""
    for place in ("labels", "annotations"):
        ours = {
            name: text for name, text in (source.get(place) or {}).items() if has_our_prefix(name)
        }
        if ours:
            source[place] = {name: text for name, text in source[place].items() if name not in ours}
            metadata[place] = ours | (metadata.get(place) or {})


def _chosen(names: Mapping[str, str], labels: LabelOptions) -> dict[str, str]:
    given = {name: getattr(labels, field) for field, name in names.items()}
    return {name: value for name, value in given.items() if value}


def _role(name: str, labels: LabelOptions) -> dict[str, str]:
    """The role label, from the Job's name if that is TRAINING_JOB-ROLE and no role is given."""
    prefix = f"{labels.job}-"
    if labels.role or not labels.job or not labels.roles or not name.startswith(prefix):
        return {}
    return {contract.ROLE: name.removeprefix(prefix)}


def _put(metadata: Json, place: str, values: Mapping[str, str]) -> None:
    if values:
        metadata[place] = {**(metadata.get(place) or {}), **values}


def _check(target: Json, whole: Json) -> None:
    of_cron_job = target is not whole
    place = f"{titled(whole)}: {JOB_TEMPLATE}." if of_cron_job else f"{titled(whole)}: "
    if not is_labelled(target):
        path = f"{place}metadata.labels[{contract.FRAMEWORK}]"
        raise Denied([Finding(path, "is missing", "add --framework, e.g. --framework tensorflow")])
    job = made_job(whole) if of_cron_job else whole
    queued = other_controllers.findings(job)
    try:
        parse(job)
    except Denied as denied:
        raise Denied(prefixed(place, [*queued, *denied.findings])) from None
    refuse(prefixed(place, queued))
