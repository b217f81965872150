"""Parses a labelled manifest into a `JobSpec`, once, and reports all findings at once."""

from collections.abc import Sequence

from edl import contract
from edl.contract import CleanUp, KubeShare, Provision, RestartPolicy
from edl.errors import Denied, refuse
from edl.frameworks import FRAMEWORKS
from edl.frameworks.base import LEAST_COOLDOWN, MAX_COOLDOWN, Framework, Mode, PeerAccess
from edl.model import ResizePolicy
from edl.parsing import name_checks, role_bounds, topology_labels
from edl.parsing.manifest_reader import ManifestReader
from edl.parsing.role_bounds import check_ranks, check_work_items, read_bounds, read_roles
from edl.spec.container_resources import has_other_devices, own_cpus, own_gpus
from edl.spec.job_spec import (
    POD_POLICIES,
    JobSpec,
    LifecycleSpec,
    ResourceSpec,
    RoleBounds,
    ScalingSpec,
    SchedulingSpec,
)
from edl.writes import Json


def parse(manifest: Json) -> JobSpec:
    """Parses a Job or pod that carries `edl.dev/framework`. Raises Denied with every finding."""
    form = ManifestReader(manifest)
    framework = _framework(form)
    if framework is None:
        _read_apart(form)
        raise Denied(form.findings)
    spec = _read(form, framework)
    refuse(form.findings)
    return spec


def _framework(form: ManifestReader) -> Framework | None:
    name = form.labels.get(contract.FRAMEWORK, "")
    if name not in FRAMEWORKS:
        what = f'unknown "{name}"' if name else "missing"
        form.unknown(form.label_path(contract.FRAMEWORK), name, what, FRAMEWORKS)
    return FRAMEWORKS.get(name)


def _read_apart(form: ManifestReader) -> None:
    """Adds the findings that do not depend on the framework, which is not known."""
    read_bounds(form, form.labels.get(contract.ROLE, ""), ())
    for annotation in (contract.SCALE_TIMEOUT, contract.DURATION):
        form.duration(annotation)
    form.duration(contract.COOLDOWN, least=LEAST_COOLDOWN, most=MAX_COOLDOWN)
    form.count(contract.SCALE_FALLBACK)
    form.choice(contract.PROVISION, Provision, Provision.MINIMUM)
    form.count(contract.PORT, most=65535)
    _paused(form)
    _resources(form, 0)
    _lifecycle(form)


def _read(form: ManifestReader, framework: Framework) -> JobSpec:
    """The spec of a manifest; it is valid only if the form has no findings."""
    role = _role(form, framework)
    all_roles = read_roles(form, framework)
    bounds = read_bounds(form, role, all_roles)
    mode = _mode(form, framework, all_roles or (bounds,))
    _check(form, framework, bounds, mode, all_roles)
    threads = mode and mode.threads and role == framework.worker
    return JobSpec(
        namespace=form.namespace,
        name=form.name,
        job=form.job_name,
        framework=framework.name,
        role=role,
        mode=mode.name if mode else "",
        all_roles=all_roles or (bounds,),
        indexed=framework.ranked,
        scaling=_scaling(form, framework, bounds, mode),
        scheduling=_scheduling(form, all_roles or (bounds,)),
        resources=_resources(form, own_cpus(form.pod, form.pod_annotations) if threads else 0),
        port=form.count(contract.PORT, most=65535) or (mode and mode.port) or framework.port,
        lifecycle=_lifecycle(form),
        rank=_rank(form, bounds) if form.is_pod else None,
        settings=_settings(form, framework),
    )


def _scaling(
    form: ManifestReader, framework: Framework, bounds: RoleBounds, mode: Mode | None
) -> ScalingSpec:
    return ScalingSpec(
        min=bounds.min,
        max=bounds.max,
        resizing=_resizing(
            framework, bounds, mode, form.parallelism if form.created else bounds.min
        ),
        replicas=_manual_size(form, framework, bounds),
        timeout=form.duration(contract.SCALE_TIMEOUT),
        fallback=form.count(contract.SCALE_FALLBACK),
        cooldown=form.duration(contract.COOLDOWN, least=LEAST_COOLDOWN, most=MAX_COOLDOWN),
        removing=form.names(contract.REMOVE),
        paused=_paused(form),
    )


def _scheduling(form: ManifestReader, all_roles: Sequence[RoleBounds]) -> SchedulingSpec:
    return SchedulingSpec(
        topology=topology_labels.read(form, frozenset(bounds.role for bounds in all_roles)),
        provision=form.choice(contract.PROVISION, Provision, Provision.MINIMUM),
        duration=form.duration(contract.DURATION),
        progress=form.part(contract.PROGRESS),
    )


def _resources(form: ManifestReader, threads: int) -> ResourceSpec:
    gpu, whole, others = form.gpu(), own_gpus(form.pod), has_other_devices(form.pod)
    usual = gpu.whole if gpu else 0 if others else threads
    return ResourceSpec(
        gpu=gpu,
        kubeshare=form.choice(contract.KUBESHARE, KubeShare, KubeShare.TWO),
        accelerated=bool(gpu or whole),
        other_devices=others,
        slots=form.count(contract.SLOTS) or whole or usual or 1,
    )


def _lifecycle(form: ManifestReader) -> LifecycleSpec:
    return LifecycleSpec(
        clean_up=form.choice(contract.CLEAN_UP, CleanUp, CleanUp.RUNNING),
        ttl=form.count(contract.TTL, least=0),
        restart=_restart(form),
    )


def _check(
    form: ManifestReader,
    framework: Framework,
    bounds: RoleBounds,
    mode: Mode | None,
    all_roles: Sequence[RoleBounds],
) -> None:
    _check_role(form, framework, bounds, mode)
    _check_account(form, framework, bounds.role, mode)
    form.check_limits()
    name_checks.check(form, framework, bounds, all_roles)
    if framework.ranked and not form.is_pod:
        check_ranks(form)


def _role(form: ManifestReader, framework: Framework) -> str:
    role = form.labels.get(contract.ROLE, framework.worker)
    if role not in framework.kinds:
        what = f'"{role}" is not a role of {framework.name}'
        form.unknown(form.label_path(contract.ROLE), role, what, framework.kinds)
    return role


def _mode(
    form: ManifestReader, framework: Framework, all_roles: Sequence[RoleBounds]
) -> Mode | None:
    name = form.annotations.get(contract.MODE, "")
    roles = [bounds.role for bounds in all_roles]
    mode = framework.mode(name, roles)
    unread = role_bounds.unread(form)
    if mode is None and not (unread and name in {other.name for other in framework.modes}):
        modes = ", ".join(
            mode.name + (f" (with a {mode.role})" if mode.role else "") for mode in framework.modes
        )
        form.found(form.annotation_path(contract.MODE), f'"{name}" does not fit', f"one of {modes}")
    if unread:
        return mode  # Findings that follow from an invalid role would mislead.
    path = form.annotation_path(contract.ROLES)
    absent = [role for role in mode.roles if role not in roles] if mode else []
    for role in absent:
        form.found(path, f"{framework.name} needs a {role}", f"add {role}=…")
    for role in roles:
        if mode and mode.roles and role not in mode.roles:
            what = f'"{role}" has no place in mode {mode.name}'
            fitting = [other.name for other in framework.modes if other.accepts(roles)]
            ways = ("leave it out", *(f"choose mode {name}" for name in dict.fromkeys(fitting)))
            form.found(path, what, " or ".join(ways))
    if not absent and not framework.completion_role(roles):
        form.found(
            path,
            f"none of its roles decides when {framework.name} is done",
            f"list all roles, with a {' or '.join(framework.completion_roles)}",
        )
    return mode


def _check_role(
    form: ManifestReader, framework: Framework, bounds: RoleBounds, mode: Mode | None
) -> None:
    kind = framework.kinds.get(bounds.role)
    if kind is None or mode is None:
        return
    path = form.label_path(contract.MAX)
    if not kind.resizable and bounds.min != bounds.max:
        form.found(path, f"a {bounds.role} is never resized", "min = max, or leave both out")
    if bounds.max > 1 and (limit := framework.only_one(bounds.role, mode)):
        form.found(path, f"{bounds.max} × {bounds.role}", limit)
    if mode.resizing is ResizePolicy.ITEMS and form.completions is not None:
        check_work_items(form, bounds, form.completions)


def _resizing(
    framework: Framework, bounds: RoleBounds, mode: Mode | None, size: int
) -> ResizePolicy:
    """How the role is resized.

    Equal min and max mean a fixed size, unless the current size differs after an edit.
    """
    kind = framework.kinds.get(bounds.role)
    elastic = kind and kind.resizable and not bounds.min == bounds.max == size
    return mode.resizing if mode and elastic else ResizePolicy.FIXED


def _manual_size(form: ManifestReader, framework: Framework, bounds: RoleBounds) -> int | None:
    wanted = form.count(contract.REPLICAS)
    path = form.annotation_path(contract.REPLICAS)
    kind = framework.kinds.get(bounds.role)
    if wanted is not None and kind is not None and not kind.resizable:
        if wanted != bounds.min:
            form.found(path, f"a {bounds.role} is never resized", "remove it")
    elif wanted is not None and not bounds.min <= wanted <= bounds.max:
        form.found(
            path,
            f"{wanted} is outside {bounds.role}={bounds.min}..{bounds.max}",
            f"change {contract.MIN} or {contract.MAX}, or remove it",
        )
    return wanted


def _settings(form: ManifestReader, framework: Framework) -> tuple[tuple[str, str], ...]:
    for setting in framework.settings:
        if setting.whole:
            form.count(setting.annotation, most=setting.most)
    return tuple(
        (setting.annotation, form.annotations.get(setting.annotation) or setting.default)
        for setting in framework.settings
    )


def _restart(form: ManifestReader) -> RestartPolicy | None:
    """What happens when a pod fails; None if the Job's own fields decide."""
    if contract.RESTART not in form.annotations:
        if form.pod.get("restartPolicy") == "Always" and not form.is_pod:
            # The API server sets its default, Always, before it calls the webhook.
            where, way_out = "spec.template.spec.restartPolicy", "write OnFailure or Never"
            form.found(where, 'it is absent or "Always"', way_out)
        return None
    path = form.annotation_path(contract.RESTART)
    if form.is_pod:
        form.found(path, "a bare pod is not recreated", "set its spec.restartPolicy instead")
        return None
    policy = form.choice(contract.RESTART, RestartPolicy, RestartPolicy.ON_FAILURE)
    # The API server's default is Always, which a Job does not allow.
    given, wanted = form.pod.get("restartPolicy") or "Always", POD_POLICIES[policy]
    if given not in ("Always", wanted) and form.annotations[contract.RESTART] == policy:
        path = "spec.template.spec.restartPolicy"
        form.found(
            path, f'"{given}" with {contract.RESTART}: {policy}', f"leave it out, or {wanted}"
        )
    return policy


def _paused(form: ManifestReader) -> bool:
    text = form.annotations.get(contract.PAUSED, "false")
    if text not in (contract.TRUE, "false"):
        form.found(form.annotation_path(contract.PAUSED), f'"{text}"', 'write "true", or remove it')
    return text == contract.TRUE


def _rank(form: ManifestReader, bounds: RoleBounds) -> int:
    """A bare pod's index; 0 if it is absent."""
    rank = form.count(contract.RANK, least=0) or 0
    if rank >= bounds.max:
        path = form.annotation_path(contract.RANK)
        form.found(
            path, f"{rank} of {bounds.max} pods", f"0..{bounds.max - 1}, see {contract.SIZE}"
        )
    return rank


def _check_account(
    form: ManifestReader, framework: Framework, role: str, mode: Mode | None
) -> None:
    """A bare pod needs its ServiceAccount in advance.

    The pods of a Job wait until the account exists; the API server refuses a bare pod without it.
    """
    account = form.pod.get("serviceAccountName") or form.pod.get("serviceAccount")
    execs = mode and mode.peers is PeerAccess.EXEC and role in framework.completion_roles
    if form.is_pod and execs and account in (None, "", "default"):
        what = f"a bare {role} needs an account of its own: it may exec into its workers"
        bound = f"kubectl create serviceaccount NAME, bind it to {contract.LAUNCHER_CLUSTER_ROLE}"
        form.found("spec.serviceAccountName", what, f"{bound}, name it")
