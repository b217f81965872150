"""Progress of a training job: work done at the speed of its replicas, saved at checkpoints."""

from dataclasses import dataclass
from math import floor, inf

from edl.simulator.cluster.work_and_speedup import Work


@dataclass(slots=True)
class Progress:
    """Mutable. `done`: the work up to `since`, in seconds of one replica; then `speed` applies."""

    work: Work
    checkpoint: float | None = None
    done: float = 0
    saved: float = 0
    lost: float = 0
    """Work that was done and must be repeated."""
    speed: float = 0
    since: float = 0
    _unsaved: float = 0
    """Seconds of training since the last checkpoint."""

    def advance(self, now: float) -> None:
        """Add the work done until now."""
        passed, self.since = now - self.since, now
        if passed <= 0 or not self.speed:
            return
        self.done += passed * self.speed
        self._unsaved += passed
        if self.checkpoint and self._unsaved >= self.checkpoint:
            self._unsaved -= floor(self._unsaved / self.checkpoint) * self.checkpoint
            self.saved = self.done - self._unsaved * self.speed

    def run(self, now: float, replicas: int) -> None:
        """Continue with this many replicas; with 0 no work is done."""
        self.advance(now)
        self.speed = self.work.curve(replicas)

    def fall_back(self, now: float) -> None:
        """Stop: the work since the last checkpoint is lost."""
        self.advance(now)
        if self.checkpoint is not None:
            self.lost += self.done - self.saved
            self.done, self._unsaved = self.saved, 0

    @property
    def end(self) -> float:
        """When the work is done if nothing changes; inf without progress."""
        left = self.work.seconds - self.done
        return self.since + max(left, 0) / self.speed if self.speed else inf
