"""The time of one decision, and when the clock alone may change the plan."""

from datetime import datetime, timedelta

from edl.model import TrainingJob


class DecisionClock:
    """The planner's only clock: a plan that waits for a moment is rechecked then."""

    __slots__ = ("now", "rechecks")

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.rechecks: list[timedelta] = []
        """Durations after which the clock alone may change the plan."""

    def fork(self) -> "DecisionClock":
        """A clock of the same time with these rechecks, whose further ones are its own."""
        clock = DecisionClock(self.now)
        clock.rechecks += self.rechecks
        return clock

    def elapsed_or_recheck(self, since: datetime | None, wait: timedelta) -> bool:
        """Whether `wait` has passed since `since`; otherwise the plan is rechecked when it has.

        False if `since` is None.
        """
        if since is None:
            return False
        left = wait - (self.now - since)
        if left <= timedelta():
            return True
        self.rechecks.append(left)
        return False

    def waited_or_recheck(self, job: TrainingJob, patience: timedelta) -> bool:
        """Whether a queued job has waited this long; a pause and what precedes it do not count."""
        return self.elapsed_or_recheck(
            self.now if job.just_resumed else job.waiting_since, patience
        )
