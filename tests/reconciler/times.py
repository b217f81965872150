"""Time that passes when a test says so."""

from datetime import UTC, datetime, timedelta

from reconciler.leader_election import Clocks


class Time:
    """One clock for both questions: what time is it, and how much has passed."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    @property
    def clocks(self) -> Clocks:
        return Clocks(self.now, self.monotonic)
