"""The manifests of a training job's Jobs, built from the user's options. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import click

from edl import contract
from edl.errors import Denied, Finding
from edl.frameworks import FRAMEWORKS
from edl.frameworks.base import Framework
from edl.kube.option_group import argument, option, option_group
from edl.parsing.parser import parse
from edl.spec.job_spec import POD_POLICIES, RoleBounds
from edl.writes import Json
from kubectl_edl.cli.command_errors import MisusedOptions
from kubectl_edl.create.pod_options import Details, RolePodOptions, details
from kubectl_edl.create.role_options import RequestedRoles, flag, requested_roles

_ADD: Final = re.compile(r"\badd ([a-z-]+)=…")
_ADD_SINGLE: Final = re.compile(rf"{_ADD.pattern}, (?=add )")
_OPTIONS: Final[Mapping[str, str]] = {
    "metadata.name": "NAME",
    f"metadata.labels[{contract.JOB}]": "NAME",
    f"metadata.labels[{contract.GPU}]": "--gpu",
    f"metadata.labels[{contract.GPU_MEMORY}]": "--gpu-memory",
    f"metadata.annotations[{contract.SLOTS}]": "--slots",
    f"metadata.annotations[{contract.MODE}]": "--mode",
    f"metadata.annotations[{contract.ROLES}]": "roles",
    f"metadata.annotations[{contract.REQUIRED_TOPOLOGY}]": "--required-topology",
    f"metadata.annotations[{contract.PREFERRED_TOPOLOGY}]": "--preferred-topology",
    "spec.completions": "--completions",
}
"""The option for each manifest path, for findings."""
_SIZES: Final = frozenset(
    {
        "spec.parallelism",
        f"metadata.labels[{contract.MIN}]",
        f"metadata.labels[{contract.MAX}]",
    }
)


@option_group
class CreateOptions:
    """The command line without the options by role, which set sizes and pods."""

    name: str = argument()
    command: tuple[str, ...] = argument(nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
    slots: str = option(metavar="N", help="Processes per pod; defaults to its GPUs, or 1.")
    priority_class: str = option(metavar="NAME", help="PriorityClass of the pods.")
    mode: str = ""
    completions: int | None = None


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """A user's request; `sizes` are texts by role. Empty fields were not given."""

    framework: str
    options: CreateOptions
    sizes: Mapping[str, str]
    pods: RolePodOptions
    namespace: str = ""
    """The namespace for the manifests; empty for none."""


@dataclass(frozen=True, slots=True)
class _Draft:
    request: CreateRequest
    framework: Framework
    requested: RequestedRoles
    details: Details


def manifests(request: CreateRequest) -> list[Json]:
    """One Job per role, as a user would write it; raises MisusedOptions with all findings."""
    framework = FRAMEWORKS[request.framework]
    requested = requested_roles(framework, request.options.mode, request.sizes)
    roles = [bounds.role for bounds in requested.all_roles]
    draft = _Draft(request, framework, requested, details(request.pods, framework, roles))
    jobs = [_checked_job(draft, bounds) for bounds in requested.all_roles]
    findings = [*requested.findings, *draft.details.findings]
    findings += [finding for _, wrong in jobs for finding in wrong]
    if request.options.command and not findings and not any(_commands(job) for job, _ in jobs):
        what = "every role here has a command of its own"
        findings.append(Finding("COMMAND", what, _without_command(framework)))
    if findings:
        # Findings about the roles are the same for each Job.
        raise MisusedOptions(tuple(dict.fromkeys(findings)))
    return [manifest for manifest, _ in jobs]


def _checked_job(draft: _Draft, bounds: RoleBounds) -> tuple[Json, list[Finding]]:
    """The Job of one role, and its findings.

    The command is omitted if the framework provides one.
    """
    findings = [] if bounds.role in draft.details.image else [_without_image(draft, bounds)]
    try:
        spec = parse(_job(draft, bounds, ()))
    except Denied as denied:
        return {}, [*findings, *(_translated(draft, bounds, one) for one in denied.findings)]
    needs = draft.framework.describe(spec)
    return _job(draft, bounds, () if needs.command else draft.request.options.command), findings


def _commands(job: Json) -> bool:
    """Whether the container runs the user's command."""
    return any("command" in one for one in job["spec"]["template"]["spec"]["containers"])


def _without_command(framework: Framework) -> str:
    """The remedy where no role runs a command of the user."""
    if any(setting.annotation == contract.ENTRYPOINT for setting in framework.settings):
        return "leave it out; workers run what --set entrypoint='COMMAND' names"
    return "leave it out; see --mode"


def _without_image(draft: _Draft, bounds: RoleBounds) -> Finding:
    if not draft.details.image:
        return Finding("--image", "missing", "add --image IMAGE")
    remedy = f"add --image IMAGE for all, or --image {bounds.role}=IMAGE"
    return Finding("--image", f"{bounds.role} has none", remedy)


def _translated(draft: _Draft, bounds: RoleBounds, finding: Finding) -> Finding:
    """A manifest's finding, expressed in terms of the command line."""
    option = flag(draft.framework, bounds.role)
    path = option if finding.path in _SIZES else _option(finding.path)
    return Finding(path, finding.what, in_options(draft.framework, finding.allowed))


def in_options(framework: Framework, text: str) -> str:
    """A manifest finding's advice, expressed with options: `add --workers`.

    Roles of a single replica are added with the others.
    """
    text = _ADD_SINGLE.sub(lambda match: "" if framework.kinds[match[1]].single else match[0], text)
    return _ADD.sub(lambda match: f"add {flag(framework, match[1])}", text)


def _option(path: str) -> str:
    if path in _OPTIONS:
        return _OPTIONS[path]
    place = f"metadata.annotations[{contract.PREFIX}"
    return path.replace(place, "--set ").removesuffix("]") if path.startswith(place) else path


def _job(draft: _Draft, bounds: RoleBounds, command: tuple[str, ...]) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(draft, bounds),
        "spec": _sizes(draft, bounds) | {"template": {"spec": _pod(draft, bounds, command)}},
    }


def _metadata(draft: _Draft, bounds: RoleBounds) -> Json:
    request, alone = draft.request, draft.requested.alone
    usual = alone and bounds.role == draft.framework.worker
    # `4..4` sets bounds, too; a plain number leaves them to the namespace's defaults.
    elastic = alone and (bounds.min < bounds.max or ".." in request.sizes.get(bounds.role, ""))
    labels = {
        contract.FRAMEWORK: request.framework,
        contract.JOB: "" if alone else request.options.name,
        contract.ROLE: "" if usual else bounds.role,
        contract.MIN: str(bounds.min) if elastic else "",
        contract.MAX: str(bounds.max) if elastic else "",
        contract.GPU: draft.details.gpu.get(bounds.role, ""),
        contract.GPU_MEMORY: draft.details.gpu_memory.get(bounds.role, ""),
    }
    annotations = {
        contract.ROLES: "" if alone else draft.requested.text,
        contract.MODE: request.options.mode,
        contract.SLOTS: request.options.slots,
        **draft.details.settings,
    }
    if draft.details.gpu and not labels[contract.GPU]:
        annotations.pop(contract.GPU_CLASS, None)  # only for roles with GPUs
    return _without_empty(
        {
            "name": request.options.name if alone else f"{request.options.name}-{bounds.role}",
            "namespace": request.namespace,
            "labels": _without_empty(labels),
            "annotations": _without_empty(annotations),
        }
    )


def _sizes(draft: _Draft, bounds: RoleBounds) -> Json:
    """The initial size, and the number of work items."""
    items = draft.request.options.completions
    sizes = {"parallelism": bounds.min} if bounds.min > 1 or not draft.framework.ranked else {}
    return sizes | ({} if items is None else {"completions": items, "completionMode": "Indexed"})


def _pod(draft: _Draft, bounds: RoleBounds, command: tuple[str, ...]) -> Json:
    given = draft.details
    requests = {name: values.get(bounds.role) for name, values in given.requests.items()}
    claims = dict.fromkeys(claim for claim, _ in given.claims)
    container = {
        "name": bounds.role,
        "image": given.image.get(bounds.role),
        "command": list(command),
        "env": [{"name": name, "value": value} for name, value in given.env],
        "resources": _without_empty({"requests": _without_empty(requests)}),
        "volumeMounts": [
            {"name": _volume(claim), "mountPath": path} for claim, path in given.claims
        ],
    }
    volumes = [
        {"name": _volume(claim), "persistentVolumeClaim": {"claimName": claim}} for claim in claims
    ]
    restart = given.settings.get(contract.RESTART, contract.RestartPolicy.ON_FAILURE)
    policies = (policy for asked, policy in POD_POLICIES.items() if asked == restart)
    return _without_empty(
        {
            "priorityClassName": draft.request.options.priority_class,
            "nodeSelector": dict(given.node_selector),
            "restartPolicy": next(policies, "OnFailure"),
            "containers": [_without_empty(container)],
            "volumes": volumes,
        }
    )


def _without_empty(members: Mapping[str, object]) -> Json:
    return {name: value for name, value in members.items() if value}


def _volume(claim: str) -> str:
    """A valid volume name for a claim: unlike a claim's name, it may not contain dots."""
    return claim.replace(".", "-")
