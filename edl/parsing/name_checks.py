"""Checks of the names by which a labelled object's peers and its own pods are found."""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.dns_names import LONGEST_LABEL, is_dns_subdomain
from edl.frameworks.base import Framework
from edl.parsing.manifest_reader import ManifestReader
from edl.spec.job_spec import RoleBounds

_NAME: Final = "metadata.name"
_JOB_SET: Final = "jobset.sigs.k8s.io/jobset-name"
_NO_SUBDOMAIN: Final = "in its JobSet, write network: {enableDNSHostnames: false}"
_HOST: Final = "a-z, 0-9 and -, beginning with a letter"


def check(
    form: ManifestReader, framework: Framework, bounds: RoleBounds, all_roles: Sequence[RoleBounds]
) -> None:
    if form.is_pod:
        if framework.ranked:
            _check_pod(form, bounds, all_roles)
    else:
        _check_job(form, framework, bounds, all_roles)
        _check_template(form, framework, bounds.role)
    if framework.ranked and form.job_name:
        _check_hosts(form, framework, bounds)
    elif len(form.job_name) > LONGEST_LABEL:
        what = f"it has {len(form.job_name)} characters"
        form.found(_NAME, what, f"at most {LONGEST_LABEL}, or a shorter label {contract.JOB}")
    elif form.name and not is_dns_subdomain(form.name):
        form.found(_NAME, f'"{form.name}" is not a name', "a-z, 0-9, - and .")


def _check_pod(form: ManifestReader, bounds: RoleBounds, all_roles: Sequence[RoleBounds]) -> None:
    """Bare pods find their peers by the label edl.dev/job alone."""
    if contract.JOB not in form.labels and (bounds.max > 1 or all_roles or not form.name):
        what = "a bare pod finds its peers by it"
        form.found(form.label_path(contract.JOB), what, "write the same name on each of them")


def _check_job(
    form: ManifestReader, framework: Framework, bounds: RoleBounds, all_roles: Sequence[RoleBounds]
) -> None:
    if bounds.role not in framework.kinds or (
        all_roles and all(other.role != bounds.role for other in all_roles)
    ):
        return  # A finding exists already, and the expected name depends on the corrected role.
    expected = f"{form.job_name}-{bounds.role}"
    if not form.name and (framework.ranked or all_roles):
        what = "generateName gives no address"
        form.found(_NAME, what, "peers find each other by name: set it")
    elif len(all_roles) > 1 and form.name != expected:
        allowed = f'the others expect "{expected}"{_of_kustomize(form, expected)}'
        form.found(_NAME, f'"{form.name}" as one of several Jobs', allowed)


def _of_kustomize(form: ManifestReader, expected: str) -> str:
    """What to do about a namePrefix or nameSuffix, which changes no label."""
    if form.name.endswith(expected):
        job = form.name.removesuffix(expected) + form.job_name
        return f' (after a namePrefix of kustomize, set {contract.JOB} to "{job}" on each of them)'
    if form.name.startswith(expected):
        return " (kustomize can give the Jobs of several roles a namePrefix, but no nameSuffix)"
    return ""


def _check_template(form: ManifestReader, framework: Framework, role: str) -> None:
    """The template's labels must not contradict the Job's, or its pods would not belong to it."""
    expected = {
        contract.FRAMEWORK: framework.name,
        contract.JOB: form.job_name,
        contract.ROLE: role,
    }
    for name, value in expected.items():
        given = form.pod_labels.get(name, value)
        if given != value:
            path = f"spec.template.metadata.labels[{name}]"
            form.found(path, f'"{given}" on the pods and "{value}" on the Job', "leave it out")
    subdomain = form.pod.get("subdomain")
    if framework.ranked and subdomain and subdomain != form.job_name:
        way_out = _NO_SUBDOMAIN if _JOB_SET in form.labels else "leave it out"
        form.found(
            "spec.template.spec.subdomain",
            f'"{subdomain}"',
            f'{way_out}: the training job\'s Service is "{form.job_name}"',
        )


def _check_hosts(form: ManifestReader, framework: Framework, bounds: RoleBounds) -> None:
    """The Services' names and the longest host name must be DNS labels (docs/kubernetes.md 14)."""
    job = form.job_name
    path = form.label_path(contract.JOB) if form.labels.get(contract.JOB) else _NAME
    hosts = bounds.role == framework.host_role  # a Service has the host name of its first pod
    if not _is_host(job) or job[0].isdigit():
        labelled = path == _NAME and _is_host(job) and not hosts
        by_label = f", or a label {contract.JOB} that does" if labelled else ""
        form.found(path, f'"{job}" is not a host name', f"{_HOST}{by_label}")
    owner = f"{job}-{bounds.role}" if form.is_pod else form.name
    served = _is_host(owner) and not (hosts and owner[0].isdigit())
    if owner not in ("", job) and not form.is_pod and not served:
        form.found(_NAME, f'"{owner}" is not a host name', _HOST if hosts else "a-z, 0-9 and -")
    longest = f"{owner}-{bounds.max - 1}"
    if len(longest) > LONGEST_LABEL:
        form.found(
            _NAME if not form.is_pod else path,
            f'host "{longest}" has {len(longest)} characters',
            f"at most {LONGEST_LABEL}: shorten the name by {len(longest) - LONGEST_LABEL}",
        )


def _is_host(name: str) -> bool:
    """Whether a name is a DNS label apart from its length, for which there is another finding."""
    return is_dns_subdomain(name) and "." not in name
