"""Limits of a namespace on the size of its Jobs, and findings for Jobs beyond them."""

from decimal import Decimal
from typing import Final

from edl import contract, device_templates
from edl.contract.manifest_parts import annotations, labels, pod_of
from edl.errors import Denied, Finding
from edl.parsing.manifest_reader import ManifestReader
from edl.parsing.namespace_policy import NamespacePolicy
from edl.parsing.yaml_values import whole
from edl.quantities import pod_requests
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_SHARES: Final = (contract.SHARED_GPU_REQUEST, contract.SHARED_GPU_LIMIT)
_SHARES_1: Final = tuple(
    old for new in _SHARES for old in contract.KUBESHARE_1 if contract.KUBESHARE_1[old] == new
)
"""The same names in KubeShare 1.0."""
_NOTHING: Final = Decimal(0)


def unreadable(policy: NamespacePolicy) -> list[Finding]:
    """Findings for invalid settings of the namespace: each may have been meant as a limit."""
    return [
        Finding(f"{policy} {finding.path}", finding.what, finding.allowed)
        for finding in policy.findings
    ]


def exceeded(given: Json, done: Json, spec: JobSpec, policy: NamespacePolicy) -> list[Finding]:
    """The limits that a Job or pod exceeds; `given` is the user's, `done` the completed object."""
    return [*_too_many(given, spec, policy), *_too_many_gpus(done, spec, policy)]


def outgrown(new: Json, old: Json, spec: JobSpec, policy: NamespacePolicy) -> list[Finding]:
    """The limits that an update newly exceeds.

    A Job that exceeded them before may stay, and shrink.
    """
    if not policy.limits:
        return []
    before = _max(old)
    larger = spec.scaling.max > before
    hungrier = spec.scaling.max * gpus(new) > before * gpus(old)
    return [
        *(unreadable(policy) if larger or hungrier else ()),
        *(_too_many(new, spec, policy) if larger else ()),
        *(_too_many_gpus(new, spec, policy) if hungrier else ()),
    ]


def gpus(manifest: Json) -> Decimal:
    """GPUs of one pod of a completed Job, or of a bare pod; a share counts as its fraction.

    Raises Denied for requests that are not quantities.
    """
    pods = pod_of(manifest)
    words = {**annotations(pods), **labels(pods)}
    share = next((words[name] for name in (*_SHARES, *_SHARES_1) if name in words), "0")
    try:
        pod = pods.get("spec") or {}
        whole = pod_requests(pod).get(contract.GPU_RESOURCE) + device_templates.gpus(pod)
    except ValueError as error:
        raise Denied([Finding("spec.template.spec", str(error))]) from error
    return whole + _number(share)


def _number(share: str | None) -> Decimal:
    """`share`: None without a value, which the API server stores as "" after the webhook."""
    share = share or ""
    # KubeShare's own pattern; its scheduler refuses anything else.
    return Decimal(share) if share.replace(".", "", 1).isdecimal() else _NOTHING


def _max(manifest: Json) -> int:
    """The max that the webhook has written out."""
    return whole(labels(manifest).get(contract.MAX, "")) or 0


def _too_many(given: Json, spec: JobSpec, policy: NamespacePolicy) -> list[Finding]:
    most = policy.largest_max
    if most is None or spec.scaling.max <= most:
        return []
    what = f"{spec.scaling.max} is above {most}, {policy.setting(contract.LARGEST_MAX)}"
    return [Finding(_path_of_max(given), what, f"at most {most}")]


def _path_of_max(manifest: Json) -> str:
    form = ManifestReader(manifest)
    if contract.MAX in form.labels:
        return form.label_path(contract.MAX)
    if contract.ROLES in form.annotations:
        return form.annotation_path(contract.ROLES)
    return form.annotation_path(contract.SIZE) if form.is_pod else "spec.parallelism"


def _counted(amount: Decimal) -> str:
    return f"{amount:f} {'GPU' if amount == 1 else 'GPUs'}"


def _too_many_gpus(done: Json, spec: JobSpec, policy: NamespacePolicy) -> list[Finding]:
    budget = policy.gpu_budget
    if budget is None:
        return []
    each, most = gpus(done), spec.scaling.max
    if most * each <= budget:
        return []
    count = "1 pod" if most == 1 else f"{most} pods"
    needs = f"{count} × {_counted(each)} = {_counted(most * each)}"
    what = f"{needs}, above {budget:f}, {policy.setting(contract.GPU_BUDGET)}"
    pods = int(budget // each)
    allowed = f"a max of {pods} with {_counted(each)} each" if pods else f"at most {budget:f} GPUs"
    return [Finding(f"metadata.labels[{contract.GPU}]", what, allowed)]
