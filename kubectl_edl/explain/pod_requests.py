"""What the pods of an explained job request, where its manifests do not show that."""

from collections.abc import Iterator, Sequence

from edl import contract
from edl.inject.warnings import request_warnings
from edl.model import Role
from kubectl_edl.explain.explained_job import ExplainedJob


def requests_text(explained: ExplainedJob) -> str:
    """Roles without requests, else what webhooks added to their pods; empty if neither."""
    return _unrequested(explained) or _added(explained)


def _unrequested(explained: ExplainedJob) -> str:
    if explained.view.job.problem:  # the problem may be a quota that refuses such pods
        return ""
    roles = [*_shown(explained, request_warnings.roles(explained.view.job))]
    if not roles:
        return ""
    names = " and ".join(role.name for role in roles)
    verb = "requests" if len(roles) == 1 else "request"
    return f"{names} {verb} no CPU and no memory: such pods count as nothing and fit anywhere"


def _added(explained: ExplainedJob) -> str:
    """Webhooks that inject containers see pods only: no manifest shows what they add."""
    roles = [
        role for role in _shown(explained, explained.view.job.live) if role.template.added.amounts
    ]
    if not roles:
        return ""
    more = ", ".join(f"{role.template.added.amounts} for {role.name}" for role in roles)
    added = f"webhooks added containers to its pods, which request more: {more}"
    waiting = [role.job for role in roles if role.status.suspended]
    if not waiting:
        return added
    namespace, jobs = explained.view.job.key.namespace, " ".join(waiting)
    forget = f"kubectl annotate job -n {namespace} {jobs} {contract.ADDED_REQUESTS}-"
    return f"{added}, in the last run; if nothing adds it now: {forget}"


def _shown(explained: ExplainedJob, roles: Sequence[Role]) -> Iterator[Role]:
    return (role for role in roles if role.name in explained.roles)
