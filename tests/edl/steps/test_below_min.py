"""Since when a role is below its raised minimum, for `kubectl edl doctor`."""

from edl import contract
from edl.model import Role
from edl.patches.patched_values import patched_role
from edl.steps.running_jobs import upkeep
from tests.edl.trainings import NOW, patches, pods, role, seconds, training, written


def noticed(found: Role, after: float = 0) -> tuple[Role, list[str | None]]:
    """The role after a round, and the times that were written."""
    (step,), _ = upkeep(training(role("ps"), found), [], NOW + seconds(after))
    (given,) = patches(step) or (None,)
    if given is None:
        return found, []
    return patched_role(found, given), [written(given)[contract.BELOW_MIN_SINCE]]


def test_the_time_is_written_once_and_removed_when_the_minimum_is_reached() -> None:
    raised = role("worker", 3, 4, size=2, pods=pods("worker", range(2)))
    known, times = noticed(raised)
    assert times == ["2026-01-01T12:00:00Z"]
    assert noticed(known, after=60) == (known, []), "nothing renews it"
    reached = known.changed(size=3, pods=pods("worker", range(3)))
    assert noticed(reached, after=90)[1] == [None]


def test_a_role_within_its_bounds_has_none() -> None:
    whole = role("worker", 2, 4, pods=pods("worker", range(2)))
    assert noticed(whole) == (whole, [])
