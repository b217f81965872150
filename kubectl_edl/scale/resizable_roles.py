"""The roles of a training job that can be resized."""

from edl.frameworks import FRAMEWORKS
from edl.model import ResizePolicy, Role, TrainingJob
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.job_views.job_reasons import problem_text


def resizable_roles(job: TrainingJob) -> tuple[Role, ...]:
    """The roles that the framework allows to resize."""
    framework = FRAMEWORKS.get(job.framework)
    kinds = framework.kinds if framework else {}
    return tuple(
        role
        for role in job.roles
        if (role.name in kinds and kinds[role.name].resizable)
        or role.spec.resizing is not ResizePolicy.FIXED
    )


def chosen_role(job: TrainingJob, named: str) -> Role:
    """The role to resize; `named` may be empty. Raises Refused if it is ambiguous or fixed."""
    roles = {role.name: role for role in resizable_roles(job)}
    names = ", ".join(roles)
    name = job.key.name
    if not roles:
        why = problem_text(job) or f"{job.framework}, roles {', '.join(job.role_names)}"
        raise Refused(f"{name}: it has no role that can be resized ({why})")
    if named and named not in roles:
        what = "is never resized" if named in job.role_names else "is not one of its roles"
        raise Refused(f"{name}: {named} {what}; --role is one of {names}")
    if len(roles) < len(resizable_roles(job)):  # a Job of each cannot be told from the other
        raise Refused(f"{name} is not resized: {problem_text(job)}")
    elastic = [role for role in roles.values() if role.spec.resizing is not ResizePolicy.FIXED]
    candidates = [roles[named]] if named else elastic or list(roles.values())
    if len(candidates) > 1:
        raise Refused(f"{name} has several roles that can be resized: add --role, one of {names}")
    return candidates[0]
