"""What happens when a replica fails, in the words of a Job.

The old operators count over the whole training job, a Job over its own pods; and they recreate a
pod that was deleted or evicted without counting it. `podFailurePolicy` says that to a Job; it
takes `restartPolicy: Never` (docs/kubernetes.md 11).
"""

from typing import Final

from edl.convert.tracked_object import Fields
from edl.writes import Json

POLICIES: Final = ("Always", "OnFailure", "Never", "ExitCode")
UNLIMITED: Final = 2**31 - 1
"""The old operators restart for ever unless they are told a limit; a Job gives up after six."""

_UNDISTURBED: Final = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
_PERMANENT: Final = tuple(range(1, 128))
"""Exit codes that ExitCode never tries again; the operators restart after 128..255."""


def restarted(policy: str, limit: int | None, container: str = "") -> tuple[str, Json]:
    """The pods' restart policy and the Job's fields, as the tf-operator's family acts.

    Never: the first failure is the training job's. ExitCode looks at `container`, at all
    containers without a name.
    """
    if policy == "Never":
        return "Never", {"backoffLimit": 0, "podFailurePolicy": {"rules": [_UNDISTURBED]}}
    patience: Json = {"backoffLimit": UNLIMITED if limit is None else limit}
    if policy == "ExitCode":
        codes: Json = {"containerName": container} if container else {}
        codes |= {"operator": "In", "values": list(_PERMANENT)}
        permanent = {"action": "FailJob", "onExitCodes": codes}
        return "Never", patience | {"podFailurePolicy": {"rules": [_UNDISTURBED, permanent]}}
    return "OnFailure", patience


def counted(policy: str, limit: int | None) -> tuple[str, Json]:
    """As a Job counts, which these launchers were: a missing limit is the API's."""
    if policy == "ExitCode":
        return restarted(policy, limit)
    patience = {} if limit is None else {"backoffLimit": limit}
    return "Never" if policy == "Never" else "OnFailure", patience


def replaced(policy: str) -> tuple[str, Json]:
    """A worker that waits for commands: a failed one is made again, for the launcher decides."""
    return "Never" if policy == "Never" else "OnFailure", {"backoffLimit": UNLIMITED}


def remark_on_worker(fields: Fields, policy: str) -> None:
    if policy == "Never":
        fields.note("restartPolicy", "a worker that fails is replaced by a new pod")
    elif policy == "Always":
        fields.note("restartPolicy", "Always is OnFailure in a Job", "a worker never ends anyway")
    elif policy == "ExitCode":
        what = "a worker is started again whatever its exit code"
        fields.lose("restartPolicy", what, "the launcher decides: let it end where it must")


def remark_on(fields: Fields, policy: str, *, serves: bool) -> None:
    """What the Job says in other words, and what it cannot say."""
    if policy == "Always" and serves:
        fields.note("restartPolicy", "Always is OnFailure in a Job", "this role never ends anyway")
    elif policy == "Always":
        what = '"Always" also starts a replica again that ended well, which a Job never does'
        fields.lose("restartPolicy", what, "it is OnFailure now: let the program itself go on")
    elif policy == "ExitCode":
        what = "exit codes 1..127 fail the Job, others are tried again, as podFailurePolicy"
        fields.note("restartPolicy", what, "a growth then waits for pods that still leave")
