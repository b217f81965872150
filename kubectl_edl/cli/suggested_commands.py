"""Suggested commands get the options by which they reach the same cluster as the user's own."""

import re
from typing import Final

from edl.model import TrainingJob
from kubectl_edl.cli.context import Scope

_COMMAND: Final = re.compile(r"\b(kubectl edl(?! (?:adopt|release) -f)|kubectl(?! edl)|helm) [a-z]")
"""Filters of manifests do not match, as they do not read a cluster."""
_BETWEEN: Final = re.compile(r"(\s*(?:;|\||&&)\s+|\s{2,}#.*)")


class FixCommand(str):
    """Words and commands, separated as in a shell; each command ends its part of the text."""

    __slots__ = ()


class AdministratorCommand(FixCommand):
    """A FixCommand for a cluster administrator, without the options that select this user."""

    __slots__ = ()


def explanation(job: TrainingJob) -> FixCommand:
    return FixCommand(f"kubectl edl explain {job.key.name} -n {job.key.namespace}")


def by_administrator(
    command: str, administrator: str = "a cluster administrator"
) -> AdministratorCommand:
    """The advice for users without the rights that the command needs."""
    return AdministratorCommand(f"ask {administrator} to run: {command}")


def adopt_cron_job(namespace: str, name: str, labels: str = "") -> FixCommand:
    """The command that labels the Jobs that a CronJob of the cluster creates."""
    return FixCommand(
        f"kubectl get cronjob {name} -n {namespace} -o yaml "
        f"| kubectl edl adopt -f - {labels}| kubectl apply -f -"
    )


def with_flags(text: str, scope: Scope) -> str:
    """The text with the scope's options after each kubectl and Helm command of a FixCommand."""
    if not isinstance(text, FixCommand):
        return text
    if isinstance(text, AdministratorCommand):
        scope = scope.of_another_user
    flags = {
        "kubectl edl": scope.edl_flags,
        "kubectl": scope.cluster_flags,
        "helm": scope.helm_flags,
    }
    parts = ((part, _COMMAND.search(part)) for part in _BETWEEN.split(text))
    return "".join(f"{part}{flags[match[1]]}" if match else part for part, match in parts)
