"""Warnings about changes that an update asked for and did not get, with the command to use."""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations, labels, metadata, namespace_option
from edl.frameworks import FRAMEWORKS, is_ranked
from edl.frameworks.base import RoleKind
from edl.inject.updates.update_policy import WRITTEN_OUT
from edl.parsing.yaml_values import whole
from edl.spec.job_spec import RETRIES
from edl.writes import Json

_SIZES: Final = ("parallelism", "completions")


def warnings(new: Json, old: Json, restored: Json) -> tuple[str, ...]:
    """A sentence for each field whose old value `update_policy.restore` has restored."""
    return (*_sizes(new, old), *_retries(new, old, restored), *_labels(new, old))


def _sizes(new: Json, old: Json) -> tuple[str, ...]:
    before, after = old.get("spec") or {}, new.get("spec") or {}
    changed = [name for name in _SIZES if name in before and after.get(name) != before[name]]
    sizes = {(before[name], after.get(name)) for name in changed}
    if len(sizes) == 1:  # both fields have the same old and the same new value
        ((was, wanted),) = sizes
        verb = "stays" if len(changed) == 1 else "stay"
        fields = " and ".join(f"spec.{name}" for name in changed)
        return (f"{fields} {verb} {was}: {_way_out(old, changed, wanted)}",)
    return tuple(
        f"spec.{name} stays {before[name]}: {_way_out(old, [name], after.get(name))}"
        for name in changed
    )


def _retries(new: Json, old: Json, restored: Json) -> tuple[str, ...]:
    """A warning for the API's default: it may have been written, or come for a field left out.

    No client wrote it if kubectl took the Job over from client-side apply: it drops the fields that
    the file does not have, so that the completion mode goes as well, or no manager is left.
    """
    before, asked, stored = (job.get("spec") or {} for job in (old, new, restored))
    retries, given = stored.get("backoffLimit"), asked.get("backoffLimit")
    taken_over = asked.get("completionMode") != stored.get("completionMode")
    if given == retries or retries != before.get("backoffLimit") or taken_over or _is_unowned(new):
        return ()
    why = f"{given} is Kubernetes' default, so it counts as not set"
    way_out = "leave it out of the file, or write another number to set your own limit"
    return (f"spec.backoffLimit stays {retries}{_origin(retries, old)}: {why}; {way_out}",)


def _is_unowned(job: Json) -> bool:
    """Whether the Job has field managers, and `spec.backoffLimit` belongs to none of them."""
    managers = metadata(job).get("managedFields") or []
    fields = [(manager.get("fieldsV1") or {}).get("f:spec") for manager in managers]
    return bool(managers) and not any(
        isinstance(owned, dict) and "f:backoffLimit" in owned for owned in fields
    )


def _origin(limit: int | None, old: Json) -> str:
    """Where the webhook's limit comes from."""
    most = whole(annotations(old).get(contract.INJECTED_MAX, "")) or 0
    return f", {RETRIES} for each of up to {most} replicas" if limit == RETRIES * most > 0 else ""


def _labels(new: Json, old: Json) -> tuple[str, ...]:
    """Warnings for removed labels, which are restored.

    A file that replaces the Job need not have them. An update that still carries our annotations is
    an edit of the stored Job, so the removal was meant.
    """
    if contract.INJECTED_MAX not in annotations(new):
        return ()
    job = f"{_named(old)[1]}{namespace_option(old)}"
    ways = {
        name: f"kubectl edl scale {job} --{flag} N{_which(old)} changes it, "
        for name, flag in ((contract.MIN, "min"), (contract.MAX, "max"))
    }
    return tuple(
        f"{name} stays {labels(old)[name]}: {ways.get(name, '')}"
        f"kubectl edl release {job} removes all edl.dev labels"
        for name in WRITTEN_OUT
        if name in labels(old) and name not in labels(new)
    )


def _way_out(old: Json, changed: list[str], wanted: int | None) -> str:
    role, kind = _role(old)
    if "parallelism" not in changed and not is_ranked(old):
        return "the number of work items is fixed at creation"
    if kind is not None and not kind.resizable:
        return f"{role} is never resized"
    least, most = (whole(labels(old).get(name, "")) for name in (contract.MIN, contract.MAX))
    within = wanted and (least or 1) <= wanted <= (most or wanted)
    size = wanted if within else "N"  # a field left out of the file is asked for as 1
    job = f"{_named(old)[1]}{namespace_option(old)}"
    manual = f"kubectl edl scale {job} {size}{_which(old)} sets a manual size"
    return f"kubectl-edl sets the size of this Job; {manual}"


def _which(manifest: Json) -> str:
    """The `--role` option, if the training job has several roles."""
    name, job = _named(manifest)
    return f" --role {_role(manifest)[0]}" if name != job else ""


def _role(manifest: Json) -> tuple[str, RoleKind | None]:
    framework = FRAMEWORKS.get(labels(manifest).get(contract.FRAMEWORK, ""))
    role = labels(manifest).get(contract.ROLE) or (framework.worker if framework else "")
    return role, framework.kinds.get(role) if framework else None


def _named(manifest: Json) -> tuple[str, str]:
    """The name of the Job itself, and that of its training job."""
    name = metadata(manifest).get("name", "")
    return name, labels(manifest).get(contract.JOB) or name
