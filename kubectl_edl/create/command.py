"""`kubectl edl create`: one subcommand per framework, with options from the frameworks' table."""

from collections.abc import Iterator
from typing import Final

import click

from edl import contract
from edl.frameworks import FRAMEWORKS
from edl.frameworks.base import Framework, PeerAccess, RoleKind
from edl.kube.option_group import Decorator, click_options, group
from edl.model import ResizePolicy
from edl.parsing.parser import parse
from edl.spec.job_spec import RoleBounds
from edl.writes import Json
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.interaction import print_changed
from kubectl_edl.cli.lazy_group import Listed
from kubectl_edl.cli.options import WriteOptions, namespace_options, write_options
from kubectl_edl.client.patcher import REMARKS
from kubectl_edl.client.reconciler_lease import unattended
from kubectl_edl.create.create_jobs import create_all, rehearse
from kubectl_edl.create.job_manifests import CreateOptions, CreateRequest, in_options, manifests
from kubectl_edl.create.pod_options import RolePodOptions, settings_of
from kubectl_edl.create.prerequisites import hints
from kubectl_edl.create.role_options import RequestedRoles, flags

_HELP: Final = """Create the Jobs of a training job, or write their manifests.

One Job is created per role, with the labels that make it elastic; either all Jobs are created, or
none, also after Ctrl-C. An error names Jobs that may remain because the API server did not answer.
The option of a role takes a number, or a range MIN..MAX. --dry-run client only writes the
manifests, without a cluster.

\b
Examples:
  # Create a chief, two parameter servers, and one to twelve workers
  kubectl edl create tensorflow mnist --image train:1 --chief --ps 2 \\
    --workers 1..12 --cpu 2 --memory 4Gi --gpu 1 -- python train.py
  # Write the manifests to a file
  kubectl edl create tensorflow mnist --image train:1 --chief --ps 2 \\
    --workers 1..12 --dry-run client -o yaml -- python train.py > mnist.yaml
  # Run all pods in one zone, in as few racks as possible
  kubectl edl create pytorch bert --image train:1 --workers 8..16 --gpu 8 \\
    --required-topology topology.kubernetes.io/zone \\
    --preferred-topology example.com/rack
  # Show the options of a framework, with its roles, modes and settings
  kubectl edl create horovod --help
"""
_FRAMEWORK_HELP: Final = """Create the Jobs of a {name} training job, or write their manifests.

SIZE is a number, or a range MIN..MAX. In a training job with a single role, a namespace's
edl.dev/default-max may turn a number into a range; 4..4 always stays 4. COMMAND runs in every role
for which the framework sets no command; it defaults to the image's. Roles that need exactly one
replica are added.

\b
Examples:
  # Create the Jobs
  kubectl edl create {name} demo --image IMAGE {example} \\
    --cpu 2 --memory 4Gi -- COMMAND
  # Write the manifests to a file
  kubectl edl create {name} demo --image IMAGE {example} \\
    --cpu 2 --memory 4Gi --dry-run client -o yaml -- COMMAND > demo.yaml
"""


_LAUNCH_MODES: Final = (
    "How the launcher starts COMMAND's processes in the workers. kubexec (default): by kubectl "
    f"exec, which the namespace must allow ({contract.KUBEXEC}={contract.ENABLED}). ssh: by ssh, "
    "with keys of this training job; nothing needs to be allowed."
)


_ALL_PODS: Final = group(RolePodOptions, "pods")
_ALL_JOBS: Final = group(CreateOptions, "options")


def _mode(framework: Framework) -> Decorator:
    names = dict.fromkeys(mode.name for mode in framework.modes)
    text = "Mode; defaults to the one that fits the roles."
    if any(mode.peers is PeerAccess.EXEC for mode in framework.modes):
        text = _LAUNCH_MODES
    return click.option("--mode", type=click.Choice(tuple(names)), help=text)


def _completions(framework: Framework) -> tuple[Decorator, ...]:
    """The option for work items, for frameworks that have them."""
    if all(mode.resizing is not ResizePolicy.ITEMS for mode in framework.modes):
        return ()
    text = (
        "Number of work items, one index each. Default: a work queue, which gets no more pods once"
        " one has succeeded."
    )
    return (click.option("--completions", type=click.IntRange(min=1), help=text),)


def _parameter(role: str) -> str:
    return f"size_of_{role.replace('-', '_')}"


def _size(kind: RoleKind, *, hidden: bool) -> Decorator:
    """A role's size option; a role with exactly one replica needs no number: `--chief`."""
    names = (_parameter(kind.name), *flags(kind))
    text = _role_help(kind)
    if kind.single:
        return click.option(
            *names, is_flag=False, flag_value="1", metavar="[1]", hidden=hidden, help=text
        )
    return click.option(*names, metavar="SIZE", hidden=hidden, help=text)


def _role_help(kind: RoleKind) -> str:
    traits = (
        ("exactly one replica", kind.single),
        ("a range is scaled automatically", kind.resizable),
        ("runs until the job is complete", kind.serves),
    )
    return f"{', '.join(text for text, holds in traits if holds) or 'a number'}.".capitalize()


def _foreign_roles(framework: Framework) -> list[RoleKind]:
    """Roles of other frameworks: hidden options, so that an error can name this one's roles."""
    others = {kind.name: kind for other in FRAMEWORKS.values() for kind in other.roles}
    return [kind for name, kind in others.items() if name not in framework.kinds]


def _command(framework: Framework) -> click.Command:
    kinds = [*framework.roles, *_foreign_roles(framework)]
    sizes = [_size(kind, hidden=kind.name not in framework.kinds) for kind in kinds]
    text = f"Set one of: {', '.join(settings_of(framework))}."
    settings = click.option("--set", multiple=True, metavar="NAME=VALUE", help=text)
    pods = group(RolePodOptions, "pods", settings)
    options = group(CreateOptions, "options", _mode(framework), *_completions(framework))
    roles = {_parameter(kind.name): kind.name for kind in kinds}

    def create(
        cli: CliContext,
        scope: Scope,
        writing: WriteOptions,
        options: CreateOptions,
        pods: RolePodOptions,
        **given: str | None,
    ) -> None:
        sizes = {roles[name]: text for name, text in given.items() if text is not None}
        request = CreateRequest(framework.name, options, sizes, pods, scope.namespace)
        _create(cli, scope, writing, request)

    function = pods(options(namespace_options(write_options(click.pass_obj(create)))))
    for size in reversed(sizes):
        function = size(function)
    help_text = _framework_help(framework)
    return click.command(framework.name, help=help_text, epilog=EXIT_CODES_NAMED_HELP)(function)


def _framework_help(framework: Framework) -> str:
    """The help, whose example has the roles that the default mode needs, and workers."""
    mode = next(mode for mode in framework.modes if not mode.opt_in)
    wanted = {*mode.roles, mode.role, framework.worker}
    example = " ".join(
        flags(kind)[0] + ("" if kind.single else " 1..4" if kind.resizable else " 2")
        for kind in framework.roles
        if kind.name in wanted
    )
    return _FRAMEWORK_HELP.format(name=framework.name, example=example)


def _create(cli: CliContext, scope: Scope, writing: WriteOptions, request: CreateRequest) -> None:
    made = manifests(request)
    if writing.dry_run == "server":
        made = rehearse(cli.connect(scope), made)
    elif writing.dry_run == "none":
        connection = cli.connect(scope)
        made = create_all(connection, made)
        now = cli.now()
        needed = hints(connection, made, now)
        cli.warn(*unattended(connection, now), *needed, *_by_itself(made))
    remark = REMARKS[writing.dry_run]
    lines = (f"job.batch/{job['metadata']['name']} created{remark}: {_range(job)}" for job in made)
    print_changed(cli, writing.output, lines, made)


def _range(stored: Json) -> str:
    """The stored size in the format of `edl.dev/roles`, `worker=4..6`, with namespace defaults."""
    spec = parse(stored)
    return RequestedRoles((RoleBounds(spec.role, spec.scaling.min, spec.scaling.max),), ()).text


def _by_itself(made: list[Json]) -> Iterator[str]:
    """Hints on a single-role mode that the user may have chosen by forgetting a role."""
    for job in made:
        spec = parse(job)
        framework = FRAMEWORKS[spec.framework]
        mode = framework.mode(spec.mode, [spec.role])
        asked = contract.MODE in job["metadata"].get("annotations", {})
        if mode and spec.role in mode.single and not asked:
            limit = in_options(framework, framework.only_one(spec.role, mode))
            yield f"hint: {spec.role} by itself: {limit}"


def _roles(framework: Framework) -> str:
    return ", ".join(flags(kind)[0] for kind in framework.roles)


def _framework_first(args: list[str]) -> list[str]:
    """`-n team tensorflow mnist` → `tensorflow -n team mnist`."""
    place = next((index for index, word in enumerate(args) if word in FRAMEWORKS), None)
    before = args[:place] if place is not None else []
    if not before or not before[0].startswith("-") or "--" in before:
        return args
    return [args[len(before)], *before, *args[len(before) + 1 :]]


class _Create(Listed):
    """Lists the options that each framework has, too: users see them before they choose one."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        options = click_options(_ALL_PODS, _ALL_JOBS, namespace_options, write_options)
        shown = (option.get_help_record(ctx) for option in options)
        with formatter.section("Options of all frameworks"):
            formatter.write_dl([line for line in shown if line])


create: Final = _Create(
    lines={name: _roles(framework) for name, framework in FRAMEWORKS.items()},
    title="Frameworks, and the options of their roles",
    noun="framework",
    load=lambda name: _command(FRAMEWORKS[name]),
    order=_framework_first,
    name="create",
    help=_HELP,
    epilog=EXIT_CODES_NAMED_HELP,
    no_args_is_help=True,
    options_metavar="",
    subcommand_metavar="FRAMEWORK NAME [OPTIONS] [-- COMMAND...]",
)
