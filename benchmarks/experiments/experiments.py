"""The definition of each experiment: its jobs, the service beside them, and its duration."""

from dataclasses import dataclass
from random import Random
from typing import Final

WITH: Final = "with"
"""Jobs with our labels, resized by our reconciler."""
EDL: Final = "edl"
"""Jobs with the same bounds, resized by PaddlePaddle EDL's algorithm (`paddle_edl`)."""
WITHOUT: Final = "without"
"""Jobs of fixed size, as published for jobs without elasticity."""
ARMS: Final = (WITH, EDL, WITHOUT)


@dataclass(frozen=True, slots=True)
class Experiment:
    """Times are seconds since its start; works are units of `work.speed`.

    `fixed`: the trainers of a job without elasticity. `nginx`: (time, replicas of the service).
    `window`: the time in which the published logs are steady. `horizon`: the duration of a replay
    under every arm, because figures that count until the end depend on it.
    """

    name: str
    jobs: int
    first: float
    spacing: float
    fixed: int
    works: tuple[float, float]
    nginx: tuple[tuple[float, int], ...]
    horizon: float
    window: tuple[float, float]
    pservers: int = 10
    min: int = 2
    max: int = 60

    @property
    def replicas(self) -> int:
        """The replicas of the service before its first change."""
        return self.nginx[0][1] if self.nginx else 0


@dataclass(frozen=True, slots=True)
class Arrival:
    """One job of a trace: its creation time and its amount of work."""

    name: str
    at: float
    work: float


T1: Final = Experiment(
    name="T1",
    jobs=20,
    first=0.0,
    spacing=10.0,
    fixed=60,
    works=(8_000.0, 10_000.0),
    nginx=(),
    horizon=780.0,
    window=(300.0, 500.0),
)
T2: Final = Experiment(
    name="T2",
    jobs=6,
    first=10.0,
    spacing=5.0,
    fixed=15,
    works=(24_000.0, 28_000.0),
    nginx=(
        (0.0, 400),
        (115.0, 300),
        (205.0, 200),
        (295.0, 100),
        (385.0, 200),
        (475.0, 300),
        (565.0, 400),
    ),
    horizon=655.0,
    window=(45.0, 655.0),
)
EXPERIMENTS: Final = {found.name: found for found in (T1, T2)}
"""Non-elastic jobs had 60 trainers in T1 and 15 in T2, elastic ones 2 to 60 (the published README
and raw logs). The amounts of work let all jobs last through the window with kubectl-edl; no
others were tried.
"""

START_SECONDS: Final = 2.0
"""The seconds from a pod's binding until it is Running, and from its deletion until it is gone:
those of a real pod whose image is on the node.
"""
STOP_SECONDS: Final = 2.0
_JITTER: Final = 0.2


def trace(experiment: Experiment, seed: int) -> tuple[Arrival, ...]:
    """The jobs of one run: gaps within 20 % of the spacing, works uniform within their bounds."""
    random = Random(f"{experiment.name}-{seed}")  # noqa: S311 - no secret depends on it
    at, arrivals = experiment.first, []
    for number in range(experiment.jobs):
        work = random.uniform(*experiment.works)
        arrivals.append(Arrival(f"job-{number:02d}", round(at, 2), round(work, 1)))
        at += experiment.spacing * random.uniform(1 - _JITTER, 1 + _JITTER)
    return tuple(arrivals)
