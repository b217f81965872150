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
    unchanged = tuple(blockers)
    first = next((blocker for blocker in unchanged if isinstance(blocker, LoadCeiling)), None)
    if first is None:
        return unchanged
    one_ceiling = [
        blocker for blocker in unchanged if blocker is first or not isinstance(blocker, LoadCeiling)
    ]
    without_jobs = [blocker for blocker in one_ceiling if not isinstance(blocker, Outranked)]
    least = max(blocker.enough for blocker in unchanged if isinstance(blocker, LoadCeiling))

    def with_share(chosen: Sequence[Blocker], share: float) -> tuple[Blocker, ...]:
        raised = replace(first, enough=share, idle_suffices=False)
        return tuple(raised if blocker is first else blocker for blocker in chosen)

    for chosen in (without_jobs, one_ceiling):
        if len(chosen) < len(unchanged) and suffices(with_share(chosen, 1.0)):
            shares = [
                step / CEILING_PRECISION
                for step in range(round(least * CEILING_PRECISION), CEILING_PRECISION + 1)
            ]
            place = bisect_left(
                shares[:-1], x=True, key=lambda share: suffices(with_share(chosen, share))
            )
            return with_share(chosen, shares[place])
    return unchanged
