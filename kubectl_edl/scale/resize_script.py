"""A user's script in the launcher, run when workers join or leave, like et-operator's hook.

It runs as `sh SCRIPT host:slots,…`, under `timeout`, by `kubectl exec`: only with the rights of
the user of the command. No shell parses the arguments, so nothing needs quoting.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import click

from edl.model import Pod, TrainingJob
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection

USUAL_TIMEOUT: Final = timedelta(seconds=60)
"""et-operator's default."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Hook:
    """A script: words of a command line in the launcher, or the text of a local file."""

    words: tuple[str, ...]
    text: str = ""
    env: tuple[str, ...] = ()
    timeout: timedelta = USUAL_TIMEOUT


def hook(script: str, env: Sequence[str], timeout: timedelta | None) -> Hook:
    """Parse `PATH [ARGUMENT…]` in the launcher, or `@FILE [ARGUMENT…]`; raises click.UsageError."""
    for pair in env:
        if not _VARIABLE.fullmatch(pair):
            raise click.UsageError(f'--env "{pair}": write NAME=VALUE.')
    try:
        first, *rest = shlex.split(script)
    except ValueError:
        raise click.UsageError(f"--script {script!r} is not a command line.") from None
    limit = timeout or USUAL_TIMEOUT
    if not first.startswith("@"):
        return Hook((first, *rest), "", tuple(env), limit)
    try:
        text = Path(first[1:]).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--script {first}: {error}.") from None
    return Hook(("/dev/stdin", *rest), text, tuple(env), limit)


def check(job: TrainingJob) -> Pod:
    """The running launcher pod; raises Refused if there is none."""
    launchers = [role for role in job.roles if role.name == "launcher"]
    if not launchers:
        roles = ", ".join(job.role_names)
        raise Refused(
            f"{job.key.name}: --script runs in a launcher, and {job.framework} has none ({roles})"
        )
    running = (
        pod for role in launchers for pod in role.status.pods if pod.ready and not pod.terminating
    )
    pod = next(running, None)
    if pod is None:
        raise Refused(f"{job.key.name}: its launcher does not run: --script has no pod to run in")
    return pod


def run(
    cli: CliContext,
    connection: ClusterConnection,
    job: TrainingJob,
    script: Hook,
    hosts: Sequence[str],
) -> None:
    """Run the script. Raises Refused when it fails or exceeds its time limit."""
    pod = check(job)
    seconds = max(int(script.timeout.total_seconds()), 1)
    command = ["timeout", str(seconds), "sh", *script.words, ",".join(hosts)]
    arguments = [
        *("exec", "--quiet", "--stdin", pod.name, "-n", job.key.namespace),
        *connection.scope.connection_flags,
        *("--", "env", *script.env, *command),
    ]
    cli.out.flush()  # earlier output must precede the script's output
    code = cli.kubectl(arguments, script.text)
    if code:
        why = f"it took longer than {seconds} s" if code == _TIMED_OUT else f"exit code {code}"
        raise Refused(f"{job.key.name}: the script failed in {pod.name}: {why}")


_TIMED_OUT: Final = 124
"""Exit code of coreutils' `timeout` for a command that it stopped."""
