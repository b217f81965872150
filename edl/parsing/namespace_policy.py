"""Settings that a namespace has for its Jobs: injection, defaults and limits."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from edl import contract, frameworks
from edl.contract import registry
from edl.contract.manifest_parts import annotations, has_our_prefix, labels, metadata
from edl.contract.registry import EntryKind
from edl.dns_names import is_dns_subdomain
from edl.errors import Finding, refuse
from edl.frameworks import FRAMEWORKS
from edl.parsing.manifest_reader import MAX_REPLICAS, ManifestReader
from edl.similar_names import did_you_mean
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_GPUS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_CLOSE: Final = 0.85
"""The least similarity of a near miss; below it the common prefix alone would match."""
_MAX_UNKNOWN_NAMES: Final = 10
"""Unknown names that are reported: each is compared with all known names."""
_LONGEST: Final = 63
"""Characters of a name that are compared, or quoted."""
_SETTINGS: Final = {
    part: tuple(entry.name for entry in registry.ENTRIES if entry.kind is kind)
    for part, kind in (
        ("labels", EntryKind.NAMESPACE),
        ("annotations", EntryKind.NAMESPACE_ANNOTATION),
    )
}
"""The settings that users may write on a Namespace, by the part of its metadata."""


class NamespacePolicy(msgspec.Struct, frozen=True):
    """Settings of one namespace; None or empty if a setting is absent."""

    namespace: str = ""
    kubexec: bool = False
    """Launchers may exec into their workers."""
    adopts: bool = False
    """Jobs without `edl.dev/framework` are managed too."""
    framework: str = "none"
    """The framework of those Jobs."""
    default_min: int | None = None
    default_max: int | None = None
    default_priority: str = ""
    default_gpu_class: str = ""
    default_provision: str = ""
    largest_max: int | None = None
    gpu_budget: Decimal | None = None
    """GPUs that all training jobs together may have, each counted at its max; shares are
    fractions."""
    findings: tuple[Finding, ...] = ()
    """Invalid and unknown settings. Until they are corrected no Job is scaled up, as one of them
    may have been meant as a limit."""

    @property
    def without_defaults(self) -> "NamespacePolicy":
        """The same policy with its limits and findings, but without its defaults."""
        return replace(
            self,
            adopts=False,
            default_min=None,
            default_max=None,
            default_priority="",
            default_gpu_class="",
            default_provision="",
        )

    @property
    def limits(self) -> bool:
        """Whether the namespace limits its training jobs."""
        return self.largest_max is not None or self.gpu_budget is not None or bool(self.findings)

    def setting(self, name: str) -> str:
        """The setting and its namespace, for messages."""
        return f"the {name} of {self}"

    def __str__(self) -> str:
        return f'namespace "{self.namespace}"'


SILENT: Final = NamespacePolicy()
"""The settings of a namespace that has none, or that was not read."""


def read(manifest: Json) -> NamespacePolicy:
    return policy(metadata(manifest).get("name") or "", labels(manifest), annotations(manifest))


def policy(name: str, labels: Mapping[str, Any], annotations: Mapping[str, Any]) -> NamespacePolicy:
    policy = _read(name, labels, annotations)
    unknown = _unknown({"labels": labels, "annotations": annotations})
    return (
        replace(policy, findings=(*policy.findings, *_no_settings(unknown))) if unknown else policy
    )


def _read(name: str, labels: Mapping[str, Any], annotations: Mapping[str, Any]) -> NamespacePolicy:
    """The policy of the known settings, with findings for their invalid values."""
    form = ManifestReader({"metadata": {"annotations": annotations}})
    gpus = _text(form, contract.GPU_BUDGET, _GPUS.fullmatch, "GPUs, such as 8 or 2.5; 0 for none")
    policy = NamespacePolicy(
        namespace=name,
        kubexec=labels.get(contract.KUBEXEC) == contract.ENABLED,
        adopts=labels.get(contract.INJECTION) == contract.ENABLED,
        framework=_choice(form, contract.DEFAULT_FRAMEWORK, FRAMEWORKS) or SILENT.framework,
        default_min=form.count(contract.DEFAULT_MIN, most=MAX_REPLICAS),
        default_max=form.count(contract.DEFAULT_MAX, most=MAX_REPLICAS),
        default_priority=_text(
            form, contract.DEFAULT_PRIORITY, is_dns_subdomain, "the name of a PriorityClass"
        ),
        default_gpu_class=_text(
            form, contract.DEFAULT_GPU_CLASS, is_dns_subdomain, "the name of a DeviceClass"
        ),
        default_provision=_choice(form, contract.DEFAULT_PROVISION, tuple(contract.Provision)),
        largest_max=form.count(contract.LARGEST_MAX, most=MAX_REPLICAS),
        gpu_budget=Decimal(gpus) if gpus else None,
    )
    return replace(policy, findings=(*form.findings, *_contradictions(policy)))


def no_priority_class(name: str, namespace: str) -> str:
    """A problem of Jobs; `namespace`: the one that gives this class to Jobs without, if any."""
    which, again = "", "with another"
    if namespace:
        which = f", which is {NamespacePolicy(namespace).setting(contract.DEFAULT_PRIORITY)}"
        again = "with a priorityClassName, or after a correction of that annotation"
    create = f"create it (kubectl create priorityclass {name} --value=VALUE)"
    return f'PriorityClass "{name}" does not exist{which}: {create}, or recreate the Jobs {again}'


def check(manifest: Json, old: Json | None) -> None:
    """Raises Denied for settings that this change of a Namespace makes invalid.

    A setting that was invalid before may stay invalid: the namespace must remain editable.
    """
    before = _invalid(old) if old else ()
    findings = [finding for finding in _invalid(manifest) if finding not in before]
    former = _unknown(metadata(old or {}))
    refuse([*findings, *_no_settings(_unknown(metadata(manifest)) - former)])


def problems(manifest: Json) -> tuple[Finding, ...]:
    """All findings about the labels and annotations of a Namespace."""
    return (*_invalid(manifest), *_no_settings(_unknown(metadata(manifest))))


def allow_kubexec(namespace: str) -> str:
    """The command that allows launchers in the namespace to exec into their workers."""
    return f"kubectl label namespace {namespace} {contract.KUBEXEC}={contract.ENABLED}"


def no_kubexec(namespace: str) -> str:
    """Why a launcher in this namespace does not start, and both ways that it can."""
    what = f"namespace {namespace} does not let launchers exec into workers, as mode kubexec does"
    ssh = f"recreate the job with {contract.MODE}: ssh (create: --mode ssh)"
    return f"{what}: {ssh}, or: {allow_kubexec(namespace)}"


def withheld(spec: JobSpec, policy: NamespacePolicy) -> tuple[str, ...]:
    """Permissions that a Job needs and its namespace does not grant; empty if it was not read."""
    asked = policy.namespace and not policy.kubexec and frameworks.execs(spec)
    return (no_kubexec(policy.namespace),) if asked else ()


def _text(form: ManifestReader, name: str, fits: Callable[[str], object], allowed: str) -> str:
    """The text of an annotation; empty if it is absent or invalid."""
    text = form.annotations.get(name)
    if text is None or fits(text):
        return text or ""
    form.found(form.annotation_path(name), f'"{text}"', allowed)
    return ""


def _choice(form: ManifestReader, name: str, choices: Collection[str]) -> str:
    return _text(form, name, choices.__contains__, f"one of {', '.join(choices)}")


def _contradictions(policy: NamespacePolicy) -> list[Finding]:
    values = {
        contract.DEFAULT_MIN: policy.default_min,
        contract.DEFAULT_MAX: policy.default_max,
        contract.LARGEST_MAX: policy.largest_max,
    }
    ordered = [(name, value) for name, value in values.items() if value is not None]
    return [
        Finding(f"metadata.annotations[{low}]", f"{least} is above {high}: {most}", "no more")
        for place, (low, least) in enumerate(ordered)
        for high, most in ordered[place + 1 :]
        if least > most
    ]


def _invalid(manifest: Json) -> tuple[Finding, ...]:
    """Findings about known settings.

    Invalid labels are among them, although they do not block Jobs.
    """
    given_labels = labels(manifest)
    wrong = (
        Finding(f"metadata.labels[{name}]", f'"{given}"', f"{contract.ENABLED}, or leave it out")
        for name in _SETTINGS["labels"]
        if (given := given_labels.get(name, contract.DISABLED))
        not in (contract.ENABLED, contract.DISABLED)
    )
    return (*_read("", given_labels, annotations(manifest)).findings, *wrong)


def _unknown(metadata: Json) -> set[tuple[str, str]]:
    """(part, name) of labels and annotations with our prefix that are unknown on a Namespace."""
    return {
        (part, name)
        for part, names in _SETTINGS.items()
        for name in metadata.get(part) or {}
        if has_our_prefix(name) and name not in names
    }


def _no_settings(unknown: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    for part, name in sorted(unknown)[:_MAX_UNKNOWN_NAMES]:
        shown = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
        place = f"metadata.{part}[{shown}]"
        yield Finding(place, "a namespace has no such setting", _meant(shown))


def _meant(name: str) -> str:
    """The nearest known setting, or the other part of the metadata if the name belongs there."""
    for part, names in _SETTINGS.items():
        if name in names:
            return f"it is one of metadata.{part}"
    every = [*_SETTINGS["labels"], *_SETTINGS["annotations"]]
    return did_you_mean(name, every, _CLOSE) or f"one of {', '.join(every)}"
