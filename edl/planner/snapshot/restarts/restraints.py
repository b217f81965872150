"""What an attempt of a decision may not do to jobs that could not come back from a restart."""

from typing import Final, NamedTuple

from edl.model import JobKey


class StoppedForGood(NamedTuple):
    """Jobs that an attempt would stop, and that could not come back."""

    without_places: frozenset[JobKey] = frozenset()
    """Other jobs take the places on which they would start again."""
    forbidden: frozenset[JobKey] = frozenset()
    """Rules between their pods would keep them from starting again."""


class Restraints(NamedTuple):
    """The jobs that an attempt does not restart, by what it found of the attempts before."""

    keep_size: frozenset[JobKey] = frozenset()
    """Jobs that keep their sizes: no claim takes what they have."""
    no_growth: frozenset[JobKey] = frozenset()
    """Jobs that keep their sizes and do not grow either."""
    strict: bool = False
    """No minimum moves, and a job whose pods have rules counts as in `no_growth`: no job is left
    that the attempt could stop for good."""

    def after(self, stopped: StoppedForGood) -> "Restraints":
        """Those of the next attempt."""
        return self._replace(
            keep_size=self.keep_size | stopped.without_places,
            no_growth=self.no_growth | stopped.forbidden,
        )


NO_RESTRAINTS: Final = Restraints()
