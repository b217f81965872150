"""`kubectl edl`: the commands, each loaded only when it is used."""

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.lazy_group import Listed

COMMANDS: Final[Mapping[str, str]] = {
    "create": "Write or create the Jobs of a training job.",
    "status": "Training jobs: sizes, bounds, what they wait for.",
    "queue": "Jobs that wait for room, for how much, and what is ahead of them.",
    "teams": "What teams are guaranteed, use, borrow and lend; set and delete them.",
    "plan": "What the reconciler would do now, which jobs it holds, and why.",
    "explain": "Why a training job has its size, why not more, and what would change it.",
    "simulate": "What would become of these jobs: scenarios, traces, what-if on the cluster.",
    "scale": "Hold a size, give it back, or change the bounds.",
    "history": "What a training job went through.",
    "events": "Events of training jobs, their Jobs and pods, in the order of time.",
    "top": "Requested, used and idle; resource-hours against a fixed maximum.",
    "pause": "Take training jobs off the nodes until they are resumed.",
    "resume": "Let paused training jobs queue again.",
    "delete": "Delete training jobs: every Job of each, with its pods.",
    "logs": "What the pods of a training job print.",
    "adopt": "Make an ordinary Job elastic.",
    "release": "Stop managing a training job; its Jobs run on as ordinary ones.",
    "convert": "Turn TFJobs, MXJobs and other custom resources into labelled Jobs.",
    "inject": "What the webhook would do to manifests, and why.",
    "dashboard": "A web page of the cluster, live.",
    "doctor": "Whether everything is well, and the fix for what is not.",
    "certs": "The webhook's certificates: show, verify and renew them.",
    "completion": "A script that completes kubectl edl in your shell.",
    "install": "Install kubectl-edl into a cluster.",
    "upgrade": "Bring an installation to this version, or to other values.",
    "uninstall": "Take kubectl-edl out of a cluster, without any Job.",
    "version": "The plugin's version.",
}
"""Each command and its line in the overview, which must not load the command's module."""

_ELSEWHERE: Final[Mapping[str, str]] = {
    "certs": "certificates.command",
    "release": "adopt.release_command",
    "resume": "pause.resume_command",
    "uninstall": "install.uninstall_command",
    "upgrade": "install.upgrade_command",
}
"""Modules of commands that are not in a folder of their own name."""

_RENAMED: Final[Mapping[str, str]] = {"label": "adopt", "unlabel": "release"}
"""Old names and new ones; 0.2 drops the old ones."""

WITH_VALUE: Final = frozenset(
    {"-n", "--namespace", "--context", "--kubeconfig", "-l", "--selector", "-o", "--output"}
    | {"--color", "--cluster", "--user", "--as", "--as-uid", "--as-group", "--request-timeout"}
)
_HELP: Final = """Elastic training on ordinary Kubernetes Jobs: a few labels, no CRD.

Every command that asks a cluster takes kubectl's --context, --kubeconfig, --cluster, --user, --as,
--as-uid, --as-group and --request-timeout.
"""


def _load(name: str) -> click.Command:
    module = _ELSEWHERE.get(name, f"{name}.command")
    command: click.Command = import_module(f"kubectl_edl.{module}").COMMAND
    return command


def command_first(args: list[str], with_value: Collection[str] = WITH_VALUE) -> list[str]:
    """`-n team status` → `status -n team`: kubectl takes its flags on either side."""
    flags: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] not in ("-h", "--help", "--version"):
        flag = rest.pop(0)
        flags.append(flag)
        if flag in with_value and rest:
            flags.append(rest.pop(0))
    return [*rest[:1], *flags, *rest[1:]]


class _Commands(Listed):
    renamed = _RENAMED


CLI: Final = _Commands(
    COMMANDS,
    title="Commands",
    noun="command",
    load=_load,
    order=command_first,
    name="edl",
    help=_HELP,
    epilog=EXIT_CODES_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
