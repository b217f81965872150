"""What stops a training job from getting one more replica, or from starting: a value a cause.

Each says what is in the way (`says`), what would change it (`remedy`), and what the decision would
be made from if that were changed (`mended`), so that an explanation can be tried. Here are those
about the job and the others; `edl.planner.lacks` has those about room.
"""

from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import ClassVar, Final, Protocol

import msgspec
from msgspec.structs import replace

from edl import messages
from edl.model import Code, JobKey, Reason, Role, TrainingJob
from edl.planner.situation import Situation

_NAMED: Final = 3
"""Who is ahead is named up to here, and counted beyond."""


class Cause(Protocol):
    """One thing that is in the way. `kind` is its name in documents."""

    kind: ClassVar[str]

    @property
    def says(self) -> str:
        """What is in the way, as a part of a sentence."""
        ...

    @property
    def remedy(self) -> str:
        """What would change it; empty where it passes by itself."""
        ...

    def mended(self, situation: Situation, key: JobKey) -> Situation:
        """As it would be if this were not in the way of this training job."""
        ...


class Bounds(StrEnum):
    """What a role has as many replicas as."""

    MAX = "max"
    MANUAL = "manual size"
    ITEMS = "work items left"


class Bound(msgspec.Struct, frozen=True):
    """The role has as many replicas as it is allowed, or as there is work for."""

    kind: ClassVar[str] = "Bound"
    role: str
    bound: Bounds
    value: int

    @property
    def says(self) -> str:
        if self.bound is Bounds.ITEMS:
            return f"{self.role} has {self.value} work items left to do, and a pod for each"
        return f"{self.role} is at its {self.bound}, {self.value}"

    @property
    def remedy(self) -> str:
        return {
            Bounds.MAX: f"a larger max of {self.role}",
            Bounds.MANUAL: f"another manual size of {self.role}, or none (scale --auto)",
            Bounds.ITEMS: "",
        }[self.bound]

    def mended(self, situation: Situation, key: JobKey) -> Situation:
        def raised(role: Role) -> Role:
            one_more = self.value + 1
            if self.bound is Bounds.ITEMS:
                return replace(role, remaining=(role.remaining or 0) + 1)
            if self.bound is Bounds.MANUAL:
                return replace(role, wanted=one_more)
            return replace(role, max=one_more)

        return situation.with_role(key, self.role, raised)


class Until(msgspec.Struct, frozen=True):
    """A rule that time alone ends. `until` is when, as things stand."""

    kind: ClassVar[str] = "Until"
    reason: Reason
    until: datetime

    @property
    def says(self) -> str:
        return f"{messages.message(self.reason)} (until {self.until:%H:%M:%S} UTC)"

    @property
    def remedy(self) -> str:
        return ""

    def mended(self, situation: Situation, key: JobKey) -> Situation:  # noqa: ARG002 (a Cause's shape)
        later = max(self.until, situation.state.observed_at)
        return replace(situation, state=replace(situation.state, observed_at=later))


class Others(msgspec.Struct, frozen=True):
    """Whoever would get the room first. `rule`: why they come first.

    `pods`: an example of each group of other owners' pending pods among them. `roles`: those of
    this training job itself, with the size that they have got.
    """

    kind: ClassVar[str] = "Others"
    rule: Code
    jobs: tuple[JobKey, ...]
    pods: tuple[str, ...] = ()
    roles: tuple[tuple[str, int], ...] = ()

    @property
    def says(self) -> str:
        names = [
            *(f"its own {name}" for name, _ in self.roles),
            *map(str, self.jobs),
            *(f"pending pods such as {pod}" for pod in self.pods),
        ]
        rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"{messages.rule(self.rule)} {', '.join(names[:_NAMED])}{rest}"

    @property
    def remedy(self) -> str:
        return "room for them too"

    def mended(self, situation: Situation, key: JobKey) -> Situation:
        found = situation.without_demands(frozenset(self.pods))
        for job in self.jobs:
            found = found.with_job(job, content)
        for name, size in self.roles:
            found = found.with_role(key, name, partial(_at_most, size))
        return found


def _at_most(size: int, role: Role) -> Role:
    return replace(role, max=min(role.max, max(size, role.min)))


class Promised(msgspec.Struct, frozen=True):
    """It gets what it asks for as soon as what is on its way has happened. Nothing to mend."""

    kind: ClassVar[str] = "Promised"
    reason: Reason

    @property
    def says(self) -> str:
        return messages.message(self.reason)

    @property
    def remedy(self) -> str:
        return ""

    def mended(self, situation: Situation, key: JobKey) -> Situation:  # noqa: ARG002 (a Cause's shape)
        return situation


class Hindrance(StrEnum):
    """What about a training job itself keeps it as it is."""

    PAUSED = "Paused"
    PROBLEM = "Problem"
    MISSING = "Missing"
    FIXED = "Fixed"
    NEARLY_DONE = "NearlyDone"
    OVER = "Over"
    RULE = "Rule"
    """Said by the plan's sentence only."""


_MENDABLE: Final = {
    Hindrance.PAUSED: "resuming it (kubectl edl resume)",
    Hindrance.PROBLEM: "putting this right",
    Hindrance.MISSING: "creating its other Jobs",
}


class Itself(msgspec.Struct, frozen=True):
    """Something about the training job itself; `reason` says it."""

    kind: ClassVar[str] = "Itself"
    what: Hindrance
    reason: Reason

    @property
    def says(self) -> str:
        return messages.message(self.reason)

    @property
    def remedy(self) -> str:
        return _MENDABLE.get(self.what, "")

    def mended(self, situation: Situation, key: JobKey) -> Situation:
        def right(job: TrainingJob) -> TrainingJob:
            return replace(job, paused=False, problem="", refusal=None, missing=())

        return situation.with_job(key, right) if self.what in _MENDABLE else situation


def content(job: TrainingJob) -> TrainingJob | None:
    """A training job that asks for nothing: it keeps what it has; gone if it has nothing."""
    if all(role.suspended for role in job.live):
        return None
    kept = (replace(role, wanted=role.size, max=max(role.max, role.size)) for role in job.roles)
    return replace(job, roles=tuple(kept))
