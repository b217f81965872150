"""Workers whose process 1 is sshd, which exits with 0 on SIGTERM.

A drained worker would then succeed: its index would be complete and never recreated. Our own
worker command never exits with 0 (`edl.frameworks.scripts`), and runs sshd where it is needed.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.convert.parts import pod_templates, replica_specs
from edl.convert.parts.replica_specs import Replica
from edl.writes import Json

_SHELLS: Final = frozenset({"sh", "bash", "/bin/sh", "/bin/bash"})
_SYNTAX: Final = re.compile(r"[;&|<>$`()'\"\\\n]")
_USUAL: Final = frozenset({"sshd", "/usr/sbin/sshd"})
"""The commands that our own worker command starts, too."""
_ALIKE: Final = re.compile(r"-[De46q]+")
"""Flags that do not change how sshd serves connections."""


def replaced(replicas: Sequence[Replica], mode: str) -> tuple[Replica, ...]:
    """The roles, with plain sshd in workers replaced by our command for `mode`."""
    return tuple(_worker(one, mode) if one.role == "worker" else one for one in replicas)


def _worker(replica: Replica, mode: str) -> Replica:
    first, *_ = pod_templates.containers(replica.template) or [{}]
    command = _process(first)
    if not command or command[0].rpartition("/")[2] != "sshd":
        return replica
    if command[0] not in _USUAL or not all(_ALIKE.fullmatch(word) for word in command[1:]):
        _note_own(replica, command)
        return replica
    _say_replaced(replica, mode)
    return replica_specs.with_template(
        replica, pod_templates.with_first(replica.template, _waiting)
    )


def _process(container: Json) -> Sequence[str]:
    """The command of process 1. A shell execs a simple command, so that command replaces it."""
    words: list[str] = [*(container.get("command") or ()), *(container.get("args") or ())]
    match words:
        case [shell, "-c", text] if shell in _SHELLS:
            return () if _SYNTAX.search(text) else text.removeprefix("exec ").split()
    return words


def _waiting(container: Json) -> Json:
    return pod_templates.without(pod_templates.without(container, "command"), "args")


def _say_replaced(replica: Replica, mode: str) -> None:
    """Report the replacement: our command starts sshd in mode ssh, and no server in other modes."""
    what = "sshd as process 1 ends with 0 when it is drained, and its worker would be done"
    if mode == "ssh":
        replica.fields.note("template", what, "kubectl-edl's own command starts it now")
        return
    way_out = f"a launcher that uses ssh, not exec, needs {contract.MODE}: ssh on both Jobs"
    replica.fields.lose("template", f"{what}: kubectl-edl's own command waits for execs", way_out)


def _note_own(replica: Replica, command: Sequence[str]) -> None:
    script = f"trap 'exit 143' TERM; {shlex.join(command)} & wait; exit 1"
    what = "sshd as process 1 ends with 0 when it is drained: its worker is done, and never again"
    replica.fields.note("template", what, f"let sh -c run: {script}")
