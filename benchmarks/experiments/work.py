"""Training speed by number of trainers: below linear, and the same for every way."""

from dataclasses import dataclass
from typing import Final

CONTENTION: Final = 0.01
"""Contention in Gunther's scalability law: what one more trainer costs the others that share the
parameter servers. 60 trainers are as fast as 38 that never wait."""


def speed(trainers: int) -> float:
    """Units of work a second; one trainer alone makes one."""
    return trainers / (1 + CONTENTION * (trainers - 1)) if trainers else 0.0


@dataclass(slots=True)
class Work:
    """What is left of a job's work, as time goes by."""

    left: float
    trainers: int = 0
    at: float = 0.0

    def go_on(self, now: float, trainers: int) -> bool:
        """It has trained with the trainers of last time until now; whether it is done."""
        self.left -= speed(self.trainers) * (now - self.at)
        self.at, self.trainers = now, trainers
        return self.left <= 0
