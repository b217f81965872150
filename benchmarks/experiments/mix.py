"""A mix like DRAGON's: 100 TensorFlow jobs of all sizes on a GPU cluster, simulated.

DRAGON's own trace is not published. This one has the common properties of public GPU traces: jobs
arrive at random, most are small, and durations are lognormal with a long tail.
"""

from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Final

from benchmarks.experiments.experiments import START_SECONDS, STOP_SECONDS
from benchmarks.report.circumstances import commit, now
from edl import simulator
from edl.model import Node, Shape
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.quantities import CPU, Resources
from edl.simulator import Result, WorkloadRole

JOBS: Final = 100
MEDIAN: Final = 600.0
"""The median duration of a job at its max, in seconds."""
SIZES: Final = ((2, 0.2), (4, 0.4), (8, 0.3), (16, 0.1))
"""The maximum workers of jobs and the share of jobs with each; the minimum is one worker."""
CURVE: Final = simulator.Amdahl(0.03)
"""8 workers are as fast as 6.6 workers that never wait for their parameter server."""

_GPU: Final = "nvidia.com/gpu"
_GI: Final = 2**30
_NODES: Final = 16
_ROOM: Final = Resources.of({CPU: 32_000, "memory": 256 * _GI, "pods": 110, _GPU: 4})
_BASE: Final = Resources.of({CPU: 500, "memory": _GI, "pods": 3})
_PS: Final = Shape(Resources.of({CPU: 2_000, "memory": 4 * _GI, "pods": 1}))
_WORKER: Final = Shape(Resources.of({CPU: 4_000, "memory": 16 * _GI, "pods": 1, _GPU: 1}))

WAYS: Final = ("without", "without, partly started", *POLICIES)
"""Without kubectl-edl, a job of fixed size either waits for all of its workers, as TensorFlow's
servers do, or, to its advantage, trains with those that run (partly started). With kubectl-edl:
each policy.
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """`gap`: mean seconds between two arrivals, which are exponential; `tail`: sigma of durations.

    With sigma 1.2 one job in twenty takes seven times the median, with 2.0 twenty-seven times.
    """

    gap: float
    tail: float


SETTINGS: Final = tuple(Setting(gap, tail) for tail in (1.2, 2.0) for gap in (60.0, 30.0, 15.0))
"""The first setting is simulated often, the others show what the figures depend on."""


@dataclass(frozen=True, slots=True)
class MixJob:
    name: str
    at: float
    most: int
    work: float


@dataclass(frozen=True, slots=True)
class MixFigures:
    """Times in seconds. `completions` of each job, in the order of arrival.

    `alone`: the mean job time if every job had a cluster of its own.
    """

    way: str
    seed: int
    setting: Setting
    completions: tuple[int, ...]
    wait: float
    alone: int
    makespan: int
    utilisation: float
    stops: int
    date: str = ""
    commit: str = ""


def mix(setting: Setting, seed: int) -> tuple[MixJob, ...]:
    """The trace of one run; settings differ only in the jobs' distances and durations."""
    random = Random(f"mix-{seed}")  # noqa: S311 - no secret depends on it
    at, jobs = 0.0, []
    sizes, shares = [size for size, _ in SIZES], [share for _, share in SIZES]
    for number in range(JOBS):
        (most,) = random.choices(sizes, shares)
        length = random.lognormvariate(0.0, setting.tail) * MEDIAN
        work = round(length * CURVE(most), 1)
        jobs.append(MixJob(f"job-{number:03d}", round(at, 2), most, work))
        at += random.expovariate(1 / setting.gap)
    return tuple(jobs)


def alone(setting: Setting, seed: int) -> list[float]:
    """The time of each job if it had a cluster of its own: no scheduler can do better."""
    return [START_SECONDS + job.work / CURVE(job.most) for job in mix(setting, seed)]


def simulate_mix(way: str, seed: int, setting: Setting = SETTINGS[0]) -> MixFigures:
    result = simulator.simulate(_scenario(way, mix(setting, seed)), _control_mode(way))
    completions = [job.completion for job in result.jobs if job.completion is not None]
    return MixFigures(
        way=way,
        seed=seed,
        setting=setting,
        completions=tuple(round(found) for found in completions),
        wait=round(result.wait_times.mean, 1),
        alone=round(fmean(alone(setting, seed))),
        makespan=round(result.makespan),
        utilisation=round(_gpus(result), 4),
        stops=result.pod_stops,
        date=now(),
        commit=commit(),
    )


def _gpus(result: Result) -> float:
    """The GPU utilisation while jobs still arrive; later it depends only on the longest job."""
    return result.utilisation(_GPU, 0, max(job.track.arrived for job in result.jobs))


def _control_mode(way: str) -> simulator.ControlMode:
    if way in POLICIES:
        return simulator.Elastic(POLICIES[way], Limits())
    return simulator.Plain()


def _scenario(way: str, jobs: tuple[MixJob, ...]) -> simulator.Scenario:
    nodes = (Node(f"gpu-{number:02d}", _ROOM, _BASE, Resources()) for number in range(_NODES))
    return simulator.Scenario(
        nodes=tuple(nodes),
        trainings=tuple(_training(way, job) for job in jobs),
        settings=simulator.Timing(start_up=START_SECONDS, shut_down=STOP_SECONDS),
    )


def _training(way: str, job: MixJob) -> simulator.Training:
    least = job.most if way == "without" else 1
    all_roles = (WorkloadRole("ps", 1, 1, _PS), WorkloadRole("worker", least, job.most, _WORKER))
    queued = simulator.queued(job.name, simulator.Workload("tensorflow", "ps"), all_roles)
    return simulator.Training(queued, simulator.Work(job.work, CURVE), job.at)
