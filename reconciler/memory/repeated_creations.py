"""Creations that found their objects existing, until they are tried again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from edl.backoff import Backoff
from edl.model import JobKey, ObjectRef
from edl.writes import Create, CreateKeys, Step

AFTER_EXISTING: Final = Backoff(1.0, 300.0)
"""A former job's objects are garbage collected within seconds; objects of others may stay."""

_Creations: TypeAlias = tuple[JobKey, tuple[tuple[ObjectRef, str], ...]]
"""A job, and each object with the uid of its first owner: a recreated job begins anew."""


class RepeatedCreations:
    """Back-off of steps that only create objects. Times are monotonic seconds.

    The reconciler watches dependents by label. If an object without the label has a dependent's
    name, every round computes the same creation again, and the API server refuses it each time.
    """

    def __init__(self) -> None:
        self._until: dict[_Creations, tuple[int, float]] = {}
        """The number of tries, and the time of the next one."""

    def due(self, steps: Iterable[Step], now: float) -> tuple[Step, ...]:
        """All steps but those that back off; forgets creations that no step asks for."""
        pairs = [(step, _creations(step)) for step in steps]
        asked = {creations for _, creations in pairs}
        self._until = {key: entry for key, entry in self._until.items() if key in asked}
        return tuple(
            step
            for step, creations in pairs
            if creations is None or self._until.get(creations, (0, now))[1] <= now
        )

    def back_off(self, existing: Sequence[Step], now: float) -> None:
        for step in existing:
            if creations := _creations(step):
                tries = self._until.get(creations, (0, now))[0] + 1
                self._until[creations] = tries, now + AFTER_EXISTING.after(tries)

    def next(self, now: float) -> float | None:
        """Seconds until the first of them is tried again; None if there is none."""
        return min((max(until - now, 0.0) for _, until in self._until.values()), default=None)


def _creations(step: Step) -> _Creations | None:
    """What the step creates; None if it does anything else."""
    if not step.only_creates:
        return None
    written = [write for write in step.writes if isinstance(write, Create | CreateKeys)]
    return step.job, tuple((write.target, _owner(write.manifest)) for write in written)


def _owner(manifest: Mapping[str, Any]) -> str:
    owners = manifest["metadata"].get("ownerReferences")
    return owners[0]["uid"] if owners else ""
