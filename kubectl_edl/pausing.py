"""Pausing and resuming: one annotation on every Job of a training job."""

from dataclasses import dataclass

from edl import contract
from edl.model import Target, TrainingJob
from edl.phases import ending
from edl.writes import Json, Patch
from kubectl_edl.actuators import ACTUATORS, Actuator
from kubectl_edl.find import training_job
from kubectl_edl.leadership import unattended
from kubectl_edl.options import Writing
from kubectl_edl.refusals import Refused
from kubectl_edl.results import say_changed
from kubectl_edl.retries import with_fresh_state
from kubectl_edl.survey import survey_jobs
from kubectl_edl.world import Scope, World


@dataclass(frozen=True, slots=True)
class Switch:
    """What to set, and what is said when it is done or was so before; `{job}` is filled in."""

    paused: bool
    done: str
    already: str


def flip(world: World, name: str, scope: Scope, writing: Writing, switch: Switch) -> None:
    """Write the annotation wherever it differs, and say so."""
    connection = world.connect(scope)
    actuator = ACTUATORS[writing.dry_run](connection.cluster)

    def change() -> tuple[str, list[Json]]:
        job = training_job(name, survey_jobs(connection, world.now()), connection)
        return _flip(job, switch, actuator, scope.flags)

    sentence, manifests = with_fresh_state(change, world.sleep)
    hints = unattended(connection, world.now(), writing.dry_run)
    say_changed(world, writing.output, sentence, manifests, hints)


def _flip(
    job: TrainingJob, switch: Switch, actuator: Actuator, flags: str
) -> tuple[str, list[Json]]:
    end = ending(job)
    if end is not None and not job.live:
        raise Refused(
            f"{job.key.name} has ended ({end.value}): there is nothing to pause or resume"
        )
    if not job.roles:
        raise Refused(f"{job.key.name} cannot be paused or resumed as it is: {job.problem}")
    named = f"{job.key.name}{flags}"
    if job.paused is switch.paused:
        return f"{job.key.name}: {switch.already.format(job=named)}", []
    value = contract.TRUE if switch.paused else None
    body = {"metadata": {"annotations": {contract.PAUSED: value}}}
    manifests = [
        actuator.patch(Patch(Target("Job", job.key.namespace, role.job), role.version, body))
        for role in job.live
    ]
    return f"{job.key.name}: {switch.done.format(job=named)}{actuator.remark}", manifests
