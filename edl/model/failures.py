"""Failed attempts of a training job: requests for nodes, and writes that the API server refused."""

from datetime import datetime
from typing import Annotated

import msgspec

from edl.model.causes.reason_subjects import Usage


class FailedAttempt(msgspec.Struct, frozen=True):
    """A failed request for nodes, or a refused write, to be retried after a back-off."""

    at: datetime
    attempts: int
    """Consecutive failures so far."""
    message: str = ""
    """The message of the autoscaler or the API server; shown, never parsed."""


class RequestedSize(msgspec.Struct, frozen=True, omit_defaults=True):
    """What users ask of a role's size: its bounds, a manual size, and whether its job is paused."""

    min: int
    max: int
    manual: int | None = None
    paused: bool = False


class RefusedSize(msgspec.Struct, frozen=True, omit_defaults=True):
    """A size that the API server refused to write for a running role; 0: it refused to stop it."""

    role: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    grows: bool
    """Whether it was larger than the role's size then."""
    request: RequestedSize | None = None
    """The users' request then. The refusal says nothing about another request."""

    @property
    def kind(self) -> tuple[str, bool, bool]:
        """Writes of one kind are refused together: scale-ups, scale-downs or stops of a role."""
        return self.role, self.grows, self.size == 0


class WriteRefusal(FailedAttempt, frozen=True, omit_defaults=True):
    """The API server refused a write of a training job: its start, or a new size of a role."""

    size: RefusedSize | None = None
    """None for the start."""
    lifted: bool = False
    """Whether the API server has since accepted the write in a dry run."""
    usage: Usage | None = None
    """The ResourceQuota that refused the write, with its figures then; None if none did."""

    @property
    def kind(self) -> tuple[str, bool, bool]:
        """The kind of the refused size; the start is a kind of its own."""
        return self.size.kind if self.size else ("", False, False)

    def __str__(self) -> str:
        if self.size is None:
            return f"the API server refuses its start: {self.message}"
        if self.size.size:
            return f"the API server refuses its new size: {self.message}"
        return f"the API server refuses to suspend it: {self.message}"


class ExitCodeRule(msgspec.Struct, frozen=True):
    """A rule of a Job's `podFailurePolicy` on exit codes; `container`: empty for any of them.

    `codes` are those of the rule, or, without `included`, all others than these.
    """

    action: str
    codes: frozenset[int]
    included: bool = True
    container: str = ""
    spares_disrupted: bool = False
    """Whether a rule before it ignores pods with the condition `DisruptionTarget`."""

    def matches(self, container: str, code: int) -> bool:
        return self.container in ("", container) and (code in self.codes) is self.included


class FailureRules(msgspec.Struct, frozen=True):
    """What a Job makes of failed pods, apart from its `backoffLimit`."""

    by_exit_code: tuple[ExitCodeRule, ...] = ()
    """In their order: the first that matches a failed container decides."""
    per_index: int | None = None
    """`backoffLimitPerIndex`: more failed pods of one index fail that index."""
    indexes: int | None = None
    """`maxFailedIndexes`: more failed indexes fail the Job."""
