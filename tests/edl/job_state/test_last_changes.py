"""What a plan reads off a role's last change: the same reason means more when it was a restart."""

from collections.abc import Callable

import pytest

from edl.job_state import last_changes
from edl.model import Code, JobKey, Reason, Restart, Role
from edl.model.causes.reason_subjects import ForeignJob, Minimum, Other, PendingPods, Size
from tests.edl.planner.states import role

ME, OTHER = JobKey("team", "me"), JobKey("team", "other")
GAVE = Reason(Code.FAIR_SHARING, Other(OTHER))
NONE, STOPPED, STARTED = Restart
CHANGES = (
    Reason(Code.MANUAL_SIZE),
    Reason(Code.UNSCHEDULABLE),
    Reason(Code.GANG_UNSCHEDULABLE),
    Reason(Code.GROWTH_UNSCHEDULABLE),
    Reason(Code.IDLE_CAPACITY, Size(2, 4)),
    Reason(Code.RECLAIMED, Other(OTHER)),
    Reason(Code.RECLAIMED, Minimum(OTHER)),
    Reason(Code.RECLAIMED, Minimum(ME)),
    Reason(Code.RECLAIMED, Minimum(ME, own=True)),
    Reason(Code.RECLAIMED, PendingPods("pod", 1)),
    Reason(Code.RECLAIMED, ForeignJob("uid")),
    Reason(Code.PREEMPTED, Minimum(ME)),
    Reason(Code.PREEMPTED, ForeignJob("uid")),
    Reason(Code.GUARANTEE_RECLAIMED, ForeignJob("uid", minimum=True)),
    GAVE,
    Reason(Code.FIFO_ORDER, Other(OTHER)),
)
EVERY = {Restart.NONE, Restart.STOPPED, Restart.STARTED}
"""Whether it was a restart makes no difference."""

Holds = Callable[[Role], object]
MEANT: dict[str, tuple[Holds, dict[Reason, set[Restart]]]] = {
    "restarts": (last_changes.stopped_to_resize, {one: {STOPPED} for one in CHANGES}),
    "gang_pending": (last_changes.gang_was_unschedulable, {Reason(Code.GANG_UNSCHEDULABLE): EVERY}),
    "stayed_pending": (last_changes.was_unschedulable, {Reason(Code.UNSCHEDULABLE): EVERY}),
    "grew_in_vain": (
        lambda found: last_changes.growth_failed(ME, found),
        {
            Reason(Code.GROWTH_UNSCHEDULABLE): {STOPPED, STARTED},
            Reason(Code.RECLAIMED, Minimum(ME)): {STOPPED, STARTED},
            Reason(Code.RECLAIMED, Minimum(ME, own=True)): {STOPPED, STARTED},
        },
    ),
    "for_manual_size": (
        last_changes.stopped_for_manual_size,
        {Reason(Code.MANUAL_SIZE): {STOPPED}},
    ),
    "grows": (last_changes.stopped_to_grow, {Reason(Code.IDLE_CAPACITY, Size(2, 4)): {STOPPED}}),
    "made_room": (
        last_changes.was_reclaimed,
        {one: {STARTED} for one in CHANGES if one.code is Code.RECLAIMED},
    ),
    "yielded_to": (
        lambda found: last_changes.reclaimed_for(Code.FAIR_SHARING, found) == OTHER,
        {
            Reason(Code.RECLAIMED, Other(OTHER)): {STARTED},
            Reason(Code.RECLAIMED, Minimum(OTHER)): {STARTED},
            GAVE: {STARTED},
        },
    ),
    "yielded_to_another_namespace": (
        lambda found: last_changes.reclaimed_for(Code.FAIR_SHARING, found) == "uid",
        {Reason(Code.RECLAIMED, ForeignJob("uid")): {STARTED}},
    ),
    "preempted": (
        lambda found: last_changes.preempted_for(found) == ME,
        {Reason(Code.PREEMPTED, Minimum(ME)): EVERY},
    ),
    "preempted_for_another_namespace": (
        lambda found: last_changes.preempted_for(found) == "uid",
        {
            Reason(Code.PREEMPTED, ForeignJob("uid")): EVERY,
            Reason(Code.GUARANTEE_RECLAIMED, ForeignJob("uid", minimum=True)): EVERY,
        },
    ),
    "balanced": (lambda found: last_changes.gave_replica(Code.FAIR_SHARING, found), {GAVE: {NONE}}),
}


@pytest.mark.parametrize("name", MEANT)
def test_a_last_change_means(name: str) -> None:
    holds, meant = MEANT[name]
    for change in CHANGES:
        found = {
            restart
            for restart in Restart
            if holds(role(last=Reason(change.code, change.about, restart)))
        }
        assert found == meant.get(change, set()), change


@pytest.mark.parametrize("name", MEANT)
def test_a_role_that_never_changed_means_nothing(name: str) -> None:
    assert not MEANT[name][0](role())
