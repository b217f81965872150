"""Warnings about changes that an update asked for and did not get, with the command to use."""

from edl import contract
from edl.contract.manifest_parts import annotations, labels, metadata, namespace_option
from edl.frameworks import FRAMEWORKS, is_ranked
from edl.frameworks.base import RoleKind
from edl.inject.updates.update_policy import SIZES, WRITTEN_OUT, name_of
from edl.parsing.yaml_values import whole
from edl.writes import Json


def warnings(new: Json, old: Json) -> tuple[str, ...]:
    """A sentence for each size and label whose old value `update_policy.restore` has restored."""
    return (*_sizes(new, old), *_labels(new, old))


def _sizes(new: Json, old: Json) -> tuple[str, ...]:
    before, after = old.get("spec") or {}, new.get("spec") or {}
    changed = [name for name in SIZES if name in before and after.get(name) != before[name]]
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


def _labels(new: Json, old: Json) -> tuple[str, ...]:
    """Warnings for removed labels, which are restored.

    A file that replaces the Job need not have them. An update that still carries our annotations is
    an edit of the stored Job, so the removal was meant.
    """
    if contract.INJECTED_MAX not in annotations(new):
        return ()
    job = f"{name_of(old)}{namespace_option(old)}"
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
    job = f"{name_of(old)}{namespace_option(old)}"
    if wanted == 0 and "parallelism" in changed:  # which stops the pods of an ordinary Job
        return f"kubectl edl pause {job} keeps it from running"
    if "parallelism" not in changed and not is_ranked(old):
        return "the number of work items is fixed at creation"
    if kind is not None and not kind.resizable:
        return f"{role} is never resized"
    least, most = (whole(labels(old).get(name, "")) for name in (contract.MIN, contract.MAX))
    within = wanted and (least or 1) <= wanted <= (most or wanted)
    size = wanted if within else "N"  # a field left out of the file is asked for as 1
    manual = f"kubectl edl scale {job} {size}{_which(old)} sets a manual size"
    return f"kubectl-edl sets the size of this Job; {manual}"


def _which(manifest: Json) -> str:
    """The `--role` option, if the training job has several roles."""
    alone = metadata(manifest).get("name", "") == name_of(manifest)
    return "" if alone else f" --role {_role(manifest)[0]}"


def _role(manifest: Json) -> tuple[str, RoleKind | None]:
    framework = FRAMEWORKS.get(labels(manifest).get(contract.FRAMEWORK, ""))
    role = labels(manifest).get(contract.ROLE) or (framework.worker if framework else "")
    return role, framework.kinds.get(role) if framework else None
