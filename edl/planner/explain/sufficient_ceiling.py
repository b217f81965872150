"""The load ceiling at which a role grows although others grow first as the ceiling rises."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from edl.model.causes.blockers import Blocker, LoadCeiling, Outranked

CEILING_PRECISION: Final = 10_000
"""Load ceilings are reported in hundredths of a percent."""


def with_sufficient_ceiling(
    blockers: Sequence[Blocker], suffices: Callable[[Sequence[Blocker]], bool]
) -> tuple[Blocker, ...]:
    """The blockers with one load ceiling, instead of all ceilings and of jobs that grow first.

    Unchanged if they have no ceiling, or if no single one suffices without these jobs leaving.
    """
    found = tuple(blockers)
    first = next((one for one in found if isinstance(one, LoadCeiling)), None)
    if first is None:
        return found
    one_ceiling = [one for one in found if one is first or not isinstance(one, LoadCeiling)]
    without_jobs = [one for one in one_ceiling if not isinstance(one, Outranked)]
    least = max(one.enough for one in found if isinstance(one, LoadCeiling))

    def at(kept: Sequence[Blocker], share: float) -> tuple[Blocker, ...]:
        raised = replace(first, enough=share, idle_suffices=False)
        return tuple(raised if one is first else one for one in kept)

    for kept in (without_jobs, one_ceiling):
        if len(kept) < len(found) and suffices(at(kept, 1.0)):
            shares = [
                step / CEILING_PRECISION
                for step in range(round(least * CEILING_PRECISION), CEILING_PRECISION + 1)
            ]
            place = bisect_left(shares[:-1], x=True, key=lambda share: suffices(at(kept, share)))
            return at(kept, shares[place])
    return found
