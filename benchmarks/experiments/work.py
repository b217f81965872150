"""Training speed by number of trainers: sublinear, and equal in every arm."""

from dataclasses import dataclass
from typing import Final

CONTENTION: Final = 0.01
"""Contention in Gunther's scalability law: the cost of one more trainer for the others that share
the parameter servers. 60 trainers are as fast as 38 that never wait.
"""


def speed(trainers: int) -> float:
    """Units of work per second; a single trainer does one."""
    return trainers / (1 + CONTENTION * (trainers - 1)) if trainers else 0.0


@dataclass(slots=True)
class Work:
    """The remaining work of a job."""

    left: float
    trainers: int = 0
    at: float = 0.0

    def go_on(self, now: float, trainers: int) -> bool:
        """Train with the previous trainers until now; returns whether the job is done."""
        self.left -= speed(self.trainers) * (now - self.at)
        self.at, self.trainers = now, trainers
        return self.left <= 0
