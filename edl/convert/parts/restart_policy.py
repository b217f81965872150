"""Restart policies of the source operators, expressed as fields of a Job.

The operators count failures over the whole training job, a Job over its own pods. They restart
without limit unless one is set; a Job fails after 6 retries. And they recreate a deleted or evicted
pod without counting it. A Job does that with a `podFailurePolicy`, which requires
`restartPolicy: Never` (docs/kubernetes.md 16).
"""

from typing import Final

from edl.convert.tracked_object import Fields
from edl.spec.job_spec import IGNORE_DISRUPTIONS, PERMANENT_EXIT_CODES, UNLIMITED
from edl.writes import Json

POLICIES: Final = ("Always", "OnFailure", "Never", "ExitCode")


def restarted(policy: str, limit: int | None, container: str = "") -> tuple[str, Json]:
    """The pods' restart policy and the Job's fields, as tf-operator and its relatives behave.

    Never: the first failure fails the training job. ExitCode applies to `container`, or to all
    containers if that is empty.
    """
    if policy == "Never":
        return "Never", {"backoffLimit": 0, "podFailurePolicy": {"rules": [IGNORE_DISRUPTIONS]}}
    patience: Json = {"backoffLimit": UNLIMITED if limit is None else limit}
    if policy == "ExitCode":
        codes: Json = {"containerName": container} if container else {}
        codes |= {"operator": "In", "values": list(PERMANENT_EXIT_CODES)}
        permanent = {"action": "FailJob", "onExitCodes": codes}
        return "Never", patience | {"podFailurePolicy": {"rules": [IGNORE_DISRUPTIONS, permanent]}}
    return "OnFailure", patience


def counted(policy: str, limit: int | None) -> tuple[str, Json]:
    """The same for launchers that were Jobs: without a limit, the API's default applies."""
    if policy == "ExitCode":
        return restarted(policy, limit)
    patience = {} if limit is None else {"backoffLimit": limit}
    return "Never" if policy == "Never" else "OnFailure", patience


def replaced(policy: str) -> tuple[str, Json]:
    """For a worker that waits for commands: a failed one is replaced, as the launcher decides."""
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
    """Report what the Job expresses differently, and what it cannot express."""
    if policy == "Always" and serves:
        fields.note("restartPolicy", "Always is OnFailure in a Job", "this role never ends anyway")
    elif policy == "Always":
        what = '"Always" also starts a replica again that ended well, which a Job never does'
        fields.lose("restartPolicy", what, "it is OnFailure now: let the program itself go on")
    elif policy == "ExitCode":
        what = "exit codes 1..127 fail the Job, others are tried again, as podFailurePolicy"
        fields.note("restartPolicy", what, "a growth then waits for pods that still leave")
