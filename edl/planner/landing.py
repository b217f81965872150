"""Where the pods of a job land that restarts to give a replica: the scheduler places them anew."""

from collections.abc import Collection, Sequence
from typing import Final

from edl.model import JobKey
from edl.planner.board import Board
from edl.planner.fit import Fit
from edl.planner.stages import TASTES, Party, Stage
from edl.planner.standing import NOWHERE, Standing

_MOST: Final = 400
"""More pods than that are not placed one by one."""


def leaves_room(
    board: Board,
    restarting: Collection[JobKey],
    takers: Sequence[tuple[Fit, int]],
    *,
    of_many: bool = False,
) -> bool:
    """Whether these pods, each with the node that the plan has for it, fit wherever those land.

    The new size of the restarting jobs is taken off the grid already, and the takers are on it.
    `of_many`: the answer for more pods than can be looked at.
    """
    back = [one for one in board.standings if one.job.key in restarting]
    if sum(one.size for one in back) + len(takers) > _MOST:
        return of_many
    room = board.grid.soon.copy()
    seats = [*takers, *((one.fit, seat.row) for one in back for seat in one.seats)]
    for fit, row in seats:
        for line, amount in fit.need if row != NOWHERE else ():
            room[line, row] += amount
    total = board.grid.allocatable
    stages = (Stage(room, total, taste, near=near) for taste, near in TASTES)
    return all(_all_fit(stage, back, takers) for stage in stages)


def _all_fit(stage: Stage, back: Sequence[Standing], takers: Sequence[tuple[Fit, int]]) -> bool:
    return all(stage.takes(Party(one.fit, one.size)) for one in back) and all(
        stage.takes(Party(fit, 1)) for fit, _ in takers
    )
