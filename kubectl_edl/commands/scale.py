"""`kubectl edl scale`: a manual size, or new bounds."""

from dataclasses import replace
from typing import Final

import click

from edl.model import Target
from edl.writes import Json
from kubectl_edl.actuators import ACTUATORS
from kubectl_edl.completions import job_names
from kubectl_edl.find import training_job
from kubectl_edl.options import Command, Writing, bundled, one_namespace, writing
from kubectl_edl.refusals import EXIT_CODES_HELP
from kubectl_edl.results import say_changed
from kubectl_edl.retries import with_fresh_state
from kubectl_edl.sizes import Wish, chosen_role, scaling
from kubectl_edl.survey import survey_jobs
from kubectl_edl.world import Connection, Scope, World

_HELP: Final = """Hold a training job at a size, give the size back, or change its bounds.

A held size stays until --auto, whatever room there is; it must lie within min..max.

\b
Examples:
  # Keep 6 workers
  kubectl edl scale mnist 6
  # Let the reconciler choose again
  kubectl edl scale mnist --auto
  # New bounds; max can rise to what the pods were made for (edl.dev/injected-max)
  kubectl edl scale mnist --min 2 --max 8
  # A training job with several elastic roles
  kubectl edl scale ctr 4 --role worker
"""
_WISH: Final = (
    click.argument("size", type=int, required=False),
    click.option("--auto", is_flag=True, help="Give a held size back to the reconciler."),
    click.option("--min", type=click.IntRange(min=1), help="Fewest replicas."),
    click.option("--max", type=click.IntRange(min=1), help="Most replicas."),
    click.option("--role", help="The role, where several can be resized."),
)


def _wish(function: Command) -> Command:
    return bundled(Wish, "wish", _WISH)(function)


@click.command("scale", help=_HELP, epilog=EXIT_CODES_HELP)
@click.argument("job", shell_complete=job_names)
@_wish
@one_namespace
@writing
@click.pass_obj
def scale(world: World, job: str, wish: Wish, scope: Scope, writing: Writing) -> None:
    _check(wish)
    connection = world.connect(scope)
    asked = replace(wish, flags=scope.flags)

    def change() -> tuple[str, Json]:
        return _scale(world, connection, job, asked, writing.dry_run)

    sentence, manifest = with_fresh_state(change, world.sleep)
    say_changed(world, writing.output, sentence, [manifest])


COMMAND: Final = scale


def _check(wish: Wish) -> None:
    asked = (wish.size, wish.min, wish.max)
    if wish.auto and wish.size is not None:
        raise click.UsageError(f"{wish.size} holds a size and --auto gives it back: choose one.")
    if not wish.auto and all(value is None for value in asked):
        raise click.UsageError("What size? Give a number, --auto, --min or --max.")


def _scale(
    world: World, connection: Connection, name: str, wish: Wish, dry_run: str
) -> tuple[str, Json]:
    job = training_job(name, survey_jobs(connection, world.now()), connection)
    target = Target("Job", job.key.namespace, chosen_role(job, wish).job)
    annotations = connection.cluster.get(target)["metadata"].get("annotations") or {}
    decided = scaling(job, wish, annotations)
    actuator = ACTUATORS[dry_run](connection.cluster)
    return decided.sentence + actuator.remark, actuator.patch(decided.patch)
