"""Executes a resize: the user's script, the patch, and the wait for the outcome."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from edl import contract
from edl.errors import ClusterError, EdlError
from edl.job_state.phases import phase
from edl.messages import message
from edl.model import ObjectRef, Phase
from edl.writes import Json, Patch
from kubectl_edl.cli.command_errors import Misused, Refused, Reverted
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.cli.interaction import print_changed
from kubectl_edl.cli.options import WriteOptions
from kubectl_edl.client.cluster_view import Reads, read_survey
from kubectl_edl.client.job_lookup import named_role, training_job
from kubectl_edl.client.patcher import Patcher, with_fresh_state
from kubectl_edl.client.reconciler_lease import unattended
from kubectl_edl.scale import resize_script, worker_removal
from kubectl_edl.scale.limit_hints import NO_LIMITS, SizeLimits, size_limits
from kubectl_edl.scale.resize_outcome import wait
from kubectl_edl.scale.resize_script import Hook
from kubectl_edl.scale.resize_target import ResizeTarget, SizeRequest, resolved
from kubectl_edl.scale.size_change import next_step, patch, sentence
from kubectl_edl.scale.size_validation import check

_NO_DRY_RUN: Final = "none"
_NO_LIMIT: Final = "{}: it is {}, and --timeout limits the scale-up of a running job: leave it out,"
_REVERT_LIMIT: Final = timedelta(seconds=60)
"""Time in which the reconciler removes the replicas of a reverted scale-up."""


@dataclass(frozen=True, slots=True)
class ResizeTask:
    """One call of `kubectl edl scale`; `script` runs in the launcher."""

    cli: CliContext
    connection: ClusterConnection
    job: str
    request: SizeRequest
    writing: WriteOptions
    wait: bool = False
    script: Hook | None = None


@dataclass(frozen=True, slots=True)
class _Decided:
    target: ResizeTarget
    at: datetime
    limits: SizeLimits = NO_LIMITS

    @property
    def joining(self) -> list[str]:
        """`host:slots` of the workers that a scale-up adds."""
        size = self.target.manual_size or 0
        return self._hosts(list(range(self.target.role.status.size, size)))

    @property
    def leaving(self) -> list[str]:
        """Hosts of pods that end: the named ones, and the highest indexes, which a Job drops."""
        size, manual = self.target.role.status.size, self.target.manual_size
        remaining = size if manual is None else manual
        named = {pod.index for pod in self.target.removed}
        return self._hosts(sorted(named | set(range(remaining, size))))

    def _hosts(self, indexes: list[int]) -> list[str]:
        return worker_removal.hosts(self.target.job, self.target.role, indexes)


def carry_out(task: ResizeTask) -> None:
    """Resize; the script runs before workers leave and after new ones are ready, as in et-operator.

    A script that fails before a scale-down prevents it; one that fails after a scale-up reverts it.
    """
    decided = _decide(task)
    decided = replace(decided, limits=_limits(task, decided))
    _check_timeout(decided, task)
    script = task.script if task.writing.dry_run == _NO_DRY_RUN else None
    if script:
        resize_script.check(decided.target.job)
    decided = _write(task, decided.limits, script)
    if task.writing.dry_run != _NO_DRY_RUN or not (script or task.wait):
        return
    _check_reachable(decided, task)
    outcome = wait(task.cli, task.connection, decided.target, task.request.timeout)
    # Stdout may be for documents.
    (task.cli.warn if task.writing.output else task.cli.say)(outcome)
    if script and decided.joining:
        _run_after(task, decided, script)


def _check_timeout(decided: _Decided, task: ResizeTask) -> None:
    """Raise Misused or Refused if `--timeout` would have no effect.

    A size that is reached met its limit. The reconciler reverts only what runs: a job that starts
    with a size has no previous one, and it leaves jobs with problems alone.
    """
    target, job = decided.target, decided.target.job
    if not task.request.timeout:
        return
    name, flags = job.key.name, task.request.scope.job_flags
    if problem := job.problem or decided.limits.problem:
        raise Refused(
            f"{name}: --timeout has no effect before its problem is fixed: {message(problem)}"
        )
    if job.paused:
        raise Refused(f"{_NO_LIMIT.format(name, 'paused')} or kubectl edl resume {name}{flags}")
    if target.role.status.suspended:
        state = "queued" if phase(job) is Phase.QUEUED else "not running"
        wait_for_start = f"kubectl edl status {name}{flags} --for Running"
        raise Refused(f"{_NO_LIMIT.format(name, state)} and wait with {wait_for_start}")
    if target.limited or task.wait or task.script:
        return
    if target.manual_size == target.role.status.size:
        return
    raise Misused(
        f"{name}: --timeout limits a scale-up or a wait, and this is neither: "
        "add --wait, or leave out --timeout"
    )


def _check_reachable(decided: _Decided, task: ResizeTask) -> None:
    """Raise Refused if the wait would have no end: paused, with a problem, or over a quota."""
    job, role = decided.target.job, decided.target.role
    why = "it is paused" if job.paused else ""
    if problem := job.problem or decided.limits.problem:
        why = message(problem)
    if why:
        raise Refused(f"{job.key.name}: not waiting for {role.name}: {why}")
    if decided.limits.never and task.request.timeout is None:
        raise Refused(
            f"{job.key.name}: not waiting for {role.name}, for which only "
            f"this makes room: {decided.limits.never}; with --timeout the command waits for that"
        )


def _write(task: ResizeTask, limits: SizeLimits, script: Hook | None) -> _Decided:
    """Write the size. `limits` are of before: afterwards its new pods may already count."""
    patcher = Patcher(task.connection.cluster, task.writing.dry_run)
    announced: list[str] = []

    def change() -> tuple[_Decided, Json]:
        decided = replace(_announced(task, script, announced), limits=limits)
        return decided, patcher.patch(patch(decided.target))

    try:
        decided, manifest = with_fresh_state(change, task.cli.sleep)
    except (EdlError, KeyboardInterrupt):
        if announced:
            hosts = ",".join(announced)
            task.cli.warn(f"warning: the script has run, and these workers may stay: {hosts}")
        raise
    now = task.cli.now()
    hints = unattended(task.connection, now, task.writing.dry_run)
    job, then = decided.target.job, next_step(decided.target, attended=not hints)
    hints = (*hints, *_same_node_hint(decided.target), *decided.limits.hints)
    command = "resume" if job.paused and not job.problem else "status"
    where = f"kubectl edl {command} {job.key.name}{task.request.scope.job_flags}"
    said = f"{sentence(decided.target)}; {then}: {where}{patcher.remark}"
    print_changed(task.cli, task.writing.output, [said], [manifest], hints)
    return decided


def _announced(task: ResizeTask, script: Hook | None, announced: list[str]) -> _Decided:
    """The decision, once the script has run for each worker that leaves; `announced` grows.

    The reconciler may scale up while the script runs, so that more workers leave.
    """
    while True:
        decided = _decide(task)
        new = [host for host in decided.leaving if host not in announced]
        if not (script and new):
            return decided
        resize_script.run(task.cli, task.connection, decided.target.job, script, new)
        announced += new


def _same_node_hint(target: ResizeTarget) -> tuple[str, ...]:
    again = worker_removal.replaced(target.role, target.removed, target.manual_size)
    return worker_removal.same_node_hint(target.role, again, target.request.scope.cluster_flags)


def _limits(task: ResizeTask, decided: _Decided) -> SizeLimits:
    """The limits of the namespace that a scale-up exceeds.

    They are beside the change, so a failure to read them is not an error.
    """
    role, manual = decided.target.role, decided.target.manual_size
    size = manual or task.request.min or role.spec.min
    if size > role.status.size or role.status.suspended:
        with suppress(ClusterError):
            survey = read_survey(task.connection, decided.at, Reads.PROVISIONAL_PODS)
            claims = role.status.suspended or manual is None
            return size_limits(survey, decided.target.job, role.name, size, claims=claims)
    return NO_LIMITS


def _decide(task: ResizeTask) -> _Decided:
    connection = task.connection
    now = task.cli.now()
    survey = read_survey(connection, now)
    if task.request.remove and (hints := survey.hints_but_priorities):
        raise Refused(f"--remove needs to see the pods: {hints[0]}")
    job = training_job(task.job, survey, connection)
    # The name of a role's own Job selects that role.
    request = replace(task.request, role=task.request.role or named_role(task.job, job))
    target = resolved(job, request)
    named = ObjectRef("Job", job.key.namespace, target.role.job)
    check(target, connection.cluster.get(named))
    return _Decided(target, now)


def _run_after(task: ResizeTask, decided: _Decided, script: Hook) -> None:
    """Run the script after a scale-up, in the current launcher; revert the scale-up if it fails."""
    job = _decide(task).target.job
    try:
        resize_script.run(task.cli, task.connection, job, script, decided.joining)
    except Refused as error:
        try:
            outcome = _revert(task, decided)
        except EdlError as failure:
            raise Refused(f"{error}; the scale-up was not reverted: {failure}") from failure
        raise Reverted(f"{error}; {outcome}") from None


def _revert(task: ResizeTask, decided: _Decided) -> str:
    """Restore the bounds and the manual size, or automatic scaling; returns a sentence on it.

    Automatic scaling would keep the added replicas, so a manual size removes them first.
    """
    resize = decided.target
    before = resize.role.status.size
    manual = before if resize.fallback is None else resize.fallback
    _replace_size(task, decided, resize.manual_size, manual)
    if resize.fallback is not None:
        return f"reverted to {manual}"
    shrink = replace(resize, request=SizeRequest(), size=before, removed=())
    try:
        wait(task.cli, task.connection, shrink, _REVERT_LIMIT)
        _replace_size(task, decided, before, None)
    except (EdlError, KeyboardInterrupt):
        role = f" --role {resize.role.name} --auto"
        command = f"kubectl edl scale {resize.job.key.name}{task.request.scope.job_flags}{role}"
        return f"set to {before}; back to automatic scaling: {command}"
    return f"reverted to {before}, and to automatic scaling"


def _replace_size(
    task: ResizeTask, decided: _Decided, current: int | None, size: int | None
) -> None:
    """Replace the manual size. Raises Refused if another client has replaced `current`."""
    cluster, role = task.connection.cluster, decided.target.role
    target = ObjectRef("Job", decided.target.job.key.namespace, role.job)
    labels = {
        contract.MIN: None if task.request.min is None else str(role.spec.min),
        contract.MAX: None if task.request.max is None else str(role.spec.max),
    }
    body = {
        "labels": {label: bound for label, bound in labels.items() if bound},
        "annotations": {contract.REPLICAS: None if size is None else str(size)},
    }

    def change() -> None:
        meta = cluster.get(target)["metadata"]
        if (meta.get("annotations") or {}).get(contract.REPLICAS) != str(current):
            raise Refused("another client has changed its size")
        Patcher(cluster).patch(Patch(target, meta["resourceVersion"], {"metadata": body}))

    with_fresh_state(change, task.cli.sleep)
