"""Waiting for a phase: `kubectl edl status --for Running --timeout 5m`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from edl.model import Phase
from kubectl_edl.refusals import EndedOtherwise, Missing, TimedOut
from kubectl_edl.until_options import Wanted
from kubectl_edl.views import JobView
from kubectl_edl.world import World

_ALSO: Final[Mapping[Phase, frozenset[Phase]]] = {
    Phase.RUNNING: frozenset({Phase.RUNNING, Phase.SCALING})
}
"""What counts besides: a job that grows runs."""
_ENDED: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED})


class Wait:
    """Looks at one report after the other, and knows when it is enough."""

    def __init__(self, wanted: Wanted, world: World) -> None:
        self._wanted = wanted
        self._world = world
        self._begun = world.now()
        self._views: tuple[JobView, ...] = ()
        self._reaching = frozenset(
            phase for one in wanted.phases for phase in _ALSO.get(one, frozenset({one}))
        )

    def look(self, views: Sequence[JobView]) -> None:
        """Raises EndedOtherwise for a job that will not come there any more, Missing for none."""
        self._views = tuple(views)
        if not self._wanted.phases:
            return
        if not views:
            raise Missing("no training job to wait for; all of them: kubectl edl status -A")
        for one in views:
            if one.phase in _ENDED - self._reaching:
                raise EndedOtherwise(f"{one.job.key.name} is {one.phase.value}: {one.reason}")

    def until(self, changes: Iterator[None]) -> Iterator[None]:
        """The changes before it is reached, or too late."""
        while not (self._reached or self._late):
            if next(changes, changes) is changes:
                return
            yield

    def conclude(self) -> None:
        """Raises TimedOut where there was something to reach that was not."""
        missed = [one for one in self._views if one.phase not in self._reaching]
        if self._wanted.phases and missed:
            names = ", ".join(f"{one.job.key.name} is {one.phase.value}" for one in missed)
            wished = " or ".join(phase.value for phase in self._wanted.phases)
            raise TimedOut(f"not {wished} in time: {names}; kubectl edl status JOB says why")

    @property
    def _reached(self) -> bool:
        return bool(self._wanted.phases) and all(one.phase in self._reaching for one in self._views)

    @property
    def _late(self) -> bool:
        limit = self._wanted.timeout
        return limit is not None and self._world.now() - self._begun >= limit
