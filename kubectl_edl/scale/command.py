"""`kubectl edl scale`: a manual size, workers that leave by name, or new bounds."""

from dataclasses import replace
from typing import Final, NamedTuple

import click

from edl.kube.option_group import argument, group, option, option_group
from kubectl_edl.cli.command_errors import Exit, exit_codes
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import WriteOptions, namespace_options, write_options
from kubectl_edl.scale import resize_script
from kubectl_edl.scale.resize import ResizeTask, carry_out
from kubectl_edl.scale.resize_target import SizeRequest

_HELP: Final = """Set a manual size, return to automatic scaling, or change min and max.

A manual size stays until --auto, and must be within min..max. Scaling up waits for idle capacity;
other jobs are not scaled down for it. Workers by name, timeouts and scripts: docs/tasks/set-size.md

\b
Examples:
  # Scale to 6 workers
  kubectl edl scale mnist --replicas=6
  # Return to automatic scaling
  kubectl edl scale mnist --auto
  # Revert unless all 6 are ready within a minute
  kubectl edl scale mnist 6 --timeout 60s --wait
  # Change min and max
  kubectl edl scale mnist --min 2 --max 8
  # Scale one of several elastic roles
  kubectl edl scale ctr worker=4
  # Replace the pod of worker-3, and drop the highest worker
  kubectl edl scale mnist --remove worker-3 --wait
  # Only replace the pod of worker-3 of 6
  kubectl edl scale mnist 6 --remove worker-3 --wait
  # Run a script in the launcher
  kubectl edl scale mnist 4 --script '/app/scaler.sh --quiet' --env LEVEL=1
"""
_EXIT_CODES: Final = exit_codes(
    {
        Exit.NOT_FOUND: "not found",
        Exit.REVERTED: "scale-up reverted: not ready in time or its script failed",
        Exit.TIMED_OUT: "--wait timed out: still in progress",
    }
)


class RoleReplicas(NamedTuple):
    """A number of replicas, and the role if one is named."""

    size: int
    role: str = ""


class _RoleReplicas(click.ParamType[RoleReplicas]):
    """Parses `6`, or `worker=6`."""

    name = "N|ROLE=N"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> RoleReplicas:
        role, equals, number = value.rpartition("=")
        if bool(role) != bool(equals) or not _is_count(number):
            self.fail(_unreadable(value), param, ctx)
        return RoleReplicas(int(number), role)


def _is_count(text: str) -> bool:
    """Whether this is a number of replicas that a Job can have, except for leading zeros."""
    return text.isascii() and text.isdecimal() and len(text) <= len(str(2**31))


def _unreadable(value: str) -> str:
    is_negative = value.rpartition("=")[2].startswith("-")
    why = "replicas cannot be negative; " if is_negative else ""
    return f'"{value}": {why}write replicas as 6, or worker=6 for one role'


class _Scale(click.Command):
    """Reports a negative size as such; click takes it for an unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        negative = next((arg for arg in args if arg[:1] == "-" and arg[1:].isdecimal()), "")
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            if not negative:
                raise
            raise click.UsageError(_unreadable(negative), ctx) from None


@option_group
class ScaleOptions(SizeRequest):
    """A size request with its options. The size is given as an argument or as `--replicas`."""

    positional: RoleReplicas | None = argument(
        metavar="[N|ROLE=N]", type=_RoleReplicas(), required=False
    )
    replicas: RoleReplicas | None = option(
        metavar="N|ROLE=N", type=_RoleReplicas(), help="Manual number of replicas, as the argument."
    )
    wait: bool = option(help="Wait until the workers are ready, or removed.")
    script: str = option(metavar="PATH|@FILE", help="Script to run in the launcher pod.")
    env: tuple[str, ...] = option(
        metavar="NAME=VALUE", help="Environment variable for the script; may be repeated."
    )


@click.command("scale", cls=_Scale, help=_HELP, epilog=_EXIT_CODES)
@click.argument("job", shell_complete=job_names)
@group(ScaleOptions, "asked")
@namespace_options
@write_options
@click.pass_obj
def scale(
    cli: CliContext, job: str, asked: ScaleOptions, scope: Scope, writing: WriteOptions
) -> None:
    asked = _with_size(asked)
    _check(asked)
    script = resize_script.hook(asked.script, asked.env, asked.timeout) if asked.script else None
    request = replace(asked, scope=scope)
    carry_out(ResizeTask(cli, cli.connect(scope), job, request, writing, asked.wait, script))


def _with_size(asked: ScaleOptions) -> ScaleOptions:
    """Combine the two ways to give size and role. Raises click.UsageError if both are used."""
    if asked.positional and asked.replicas:
        raise click.UsageError("Replicas are given twice: leave out --replicas or the argument.")
    given = asked.positional or asked.replicas
    if given is None:
        return asked
    if given.role and asked.role:
        raise click.UsageError(f"--role {asked.role} and {given.role}=… name two roles: drop one.")
    return replace(asked, size=given.size, role=given.role or asked.role)


def _check(asked: ScaleOptions) -> None:
    given = (asked.size, asked.min, asked.max, asked.remove or None)
    if asked.auto and asked.size is not None:
        raise click.UsageError(f"{asked.size} sets a manual size and --auto clears it: choose one.")
    if asked.auto and asked.remove:
        raise click.UsageError("--remove sets a manual size and --auto clears it: choose one.")
    if not asked.auto and all(value is None for value in given):
        raise click.UsageError("Specify --replicas=N, --remove, --auto, --min or --max.")
    if asked.min is not None and asked.max is not None and asked.min > asked.max:
        raise click.UsageError(f"--min {asked.min} is above --max {asked.max}.")
    if asked.script and asked.size is None and not asked.remove:
        raise click.UsageError(
            "--script runs when workers are added or removed: add --replicas or --remove."
        )
    if asked.timeout and not (asked.wait or asked.script or asked.size is not None):
        raise click.UsageError(
            "--timeout limits a scale-up or a wait: add --replicas or --wait, or leave it out."
        )
    if asked.env and not asked.script:
        raise click.UsageError("--env is for --script.")
