"""Labels and annotations that never change after creation, and the way to get what was meant."""

from collections.abc import Mapping, Sequence

from edl import contract
from edl.contract.manifest_parts import (
    annotations,
    is_of_cron_job,
    labels,
    metadata,
    namespace_option,
)
from edl.errors import Denied, Finding, refuse
from edl.frameworks import FRAMEWORKS
from edl.inject.updates.update_policy import WRITTEN_OUT, name_of
from edl.parsing.manifest_reader import ManifestReader
from edl.parsing.role_bounds import read_roles
from edl.spec.job_spec import RoleBounds
from edl.writes import Json


def check_identity(new: Json, old: Json) -> None:
    """Raises Denied for a change of a label or annotation from which the pods were built."""
    if contract.FRAMEWORK not in labels(old):
        path = f"metadata.labels[{contract.FRAMEWORK}]"
        what = "this label only takes effect at creation: the pod template of a Job is immutable"
        ways = f"{_adoption(old)}, or take the names of {contract.PREFIX} out of its file"
        raise Denied([Finding(path, what, ways)])
    findings = [
        Finding(
            f"metadata.{place}[{name}]",
            f'"{after.get(name, "")}" was "{before.get(name, "")}"',
            f"it cannot change after creation: {_way_out(name, after, new, old)}",
        )
        for place, before, after in (
            ("labels", labels(old), labels(new)),
            ("annotations", annotations(old), annotations(new)),
        )
        for name in contract.IMMUTABLE
        if before.get(name) != after.get(name) and not (name in WRITTEN_OUT and name not in after)
    ]
    refuse(findings)


def _way_out(name: str, after: Mapping[str, str], new: Json, old: Json) -> str:
    job = f"{name_of(old)}{namespace_option(old)}"
    if name == contract.FRAMEWORK and name not in after:
        return f"kubectl edl release {job} removes all edl.dev labels, and the Job runs on"
    if name == contract.ROLES and (bounds := _new_bounds(new, old)):
        commands = " and ".join(
            f"kubectl edl scale {job} --role {entry.role} --min {entry.min} --max {entry.max}"
            for entry in bounds
        )
        return f"change the bounds by {commands}; a file with the old {name} then keeps them"
    return "delete the Job and recreate it"


def _new_bounds(new: Json, old: Json) -> Sequence[RoleBounds]:
    """The roles with new bounds in `edl.dev/roles`; empty if its Jobs cannot get all of them.

    The pods of a role are configured for the max that was listed at creation.
    """
    framework = FRAMEWORKS.get(labels(old)[contract.FRAMEWORK])
    if framework is None:
        return ()
    before, after = ManifestReader(old), ManifestReader(new)
    listed = {entry.role: entry for entry in read_roles(before, framework)}
    roles = read_roles(after, framework)
    if before.findings or after.findings or [*listed] != [entry.role for entry in roles]:
        return ()
    changed = [entry for entry in roles if entry != listed[entry.role]]
    possible = (
        framework.kinds[entry.role].resizable and entry.max <= listed[entry.role].max
        for entry in changed
    )
    return changed if all(possible) else ()


def _adoption(job: Json) -> str:
    """What to do about a Job that never was elastic; options of the command are the user's."""
    if other := _other_system(job):
        return f"this Job is of {other}: when that is deleted and its Job is gone, apply again"
    name = metadata(job).get("name", "")
    return f"kubectl edl adopt {name}{namespace_option(job)} --recreate …"


def _other_system(job: Json) -> str:
    """The object of another system that the Job belongs to; a CronJob's labels are the user's."""
    if is_of_cron_job(job):
        return ""
    for owner in metadata(job).get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner.get('kind')} {owner.get('name')}"
    # PaddlePaddle EDL sets no owner, and the API server copies the labels of the pods.
    training_job = labels(job).get(contract.PADDLE_TRAINER_LABEL)
    return f"TrainingJob {training_job}" if training_job else ""
