"""`kubectl edl`: the commands, each loaded only when it is used."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.lazy_group import Listed

COMMANDS: Final[Mapping[str, str]] = {
    "create": "Create the Jobs of a training job, or write their manifests.",
    "status": "List training jobs: replicas, limits and what they wait for.",
    "queue": "List queued training jobs: position, requests, jobs ahead, estimated start.",
    "teams": "Show what teams are guaranteed, use, borrow and lend; set or delete teams.",
    "plan": "Preview the next scheduling decision.",
    "explain": "Explain the size of a training job, and what would change it.",
    "simulate": "Simulate jobs under other policies, cluster sizes or limits.",
    "scale": "Set a manual size, return to automatic scaling, or change min and max.",
    "history": "Show the scaling history of a training job.",
    "events": "List Events of training jobs, their Jobs and pods.",
    "top": "Show requested, used and idle resources, and resource-hours.",
    "pause": "Suspend training jobs until they are resumed.",
    "resume": "Resume paused training jobs: they queue again.",
    "delete": "Delete training jobs with all of their Jobs and pods.",
    "logs": "Print the logs of a training job's pods.",
    "adopt": "Make an ordinary Job elastic.",
    "release": "Stop managing a training job; its Jobs keep running as ordinary Jobs.",
    "convert": "Convert TFJobs, MXJobs and other custom resources to labelled Jobs.",
    "inject": "Preview what the webhook changes in manifests, and why.",
    "dashboard": "Serve a live web page of the cluster.",
    "doctor": "Check the installation and suggest fixes.",
    "certs": "Renew the webhook's certificates.",
    "completion": "Print a shell completion script.",
    "install": "Install kubectl-edl into a cluster.",
    "upgrade": "Upgrade an installation to this version, or to other values.",
    "uninstall": "Uninstall kubectl-edl; Jobs are kept.",
    "version": "Print the plugin's version.",
}
"""Each command and its summary, listed here so that help need not import the commands."""

_ELSEWHERE: Final[Mapping[str, str]] = {
    "certs": "certificates.command",
    "release": "adopt.command",
    "resume": "pause.command",
    "uninstall": "install.uninstall_command",
    "upgrade": "install.command",
}
"""Modules of commands that have no folder of their own; the function has the command's name."""

_RENAMED: Final[Mapping[str, str]] = {"label": "adopt", "unlabel": "release"}
"""New names by old names; 0.2 removes the old ones."""

_MEANT: Final[Mapping[str, str]] = {
    "apply": "kubectl apply -f",
    "cancel": "delete",
    "describe": "status or explain",
    "get": "status",
    "list": "status",
    "ls": "status",
    "resize": "scale",
    "run": "create",
    "start": "resume",
    "stop": "pause or delete",
    "submit": "create",
    "suspend": "pause",
}
"""Commands here by commands of kubectl and of other queues, for the error of an unknown one."""

_HELP: Final = """Elastic training on ordinary Kubernetes Jobs: a few labels, no CRD.

Commands that read a cluster take kubectl's --context, --kubeconfig, --cluster, --user, --as,
--as-uid, --as-group and --request-timeout, and --system-namespace (or EDL_SYSTEM_NAMESPACE) where
kubectl-edl is installed in another namespace than edl-system.

\b
Examples:
  # Create an elastic job of one to four workers, and show its state
  kubectl edl create pytorch demo --image IMAGE --workers 1..4 -- COMMAND
  kubectl edl status demo
  # Show what keeps it from starting or scaling up
  kubectl edl explain demo
  # Show a command's options and examples
  kubectl edl help scale
"""


def _load(name: str) -> click.Command:
    module = _ELSEWHERE.get(name, f"{name}.command")
    command: click.Command = getattr(import_module(f"kubectl_edl.{module}"), name)
    return command


class _Commands(Listed):
    renamed = _RENAMED
    meant = _MEANT


CLI: Final = _Commands(
    lines=COMMANDS,
    load=_load,
    name="edl",
    help=_HELP,
    epilog=EXIT_CODES_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
