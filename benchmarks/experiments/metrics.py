"""The figures of a run; each is a pure function of the run's record."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean

from benchmarks.experiments.ceiling import Others, ceiling
from benchmarks.experiments.cluster import TOTAL_CPU
from benchmarks.experiments.course import Sample
from benchmarks.experiments.experiments import EXPERIMENTS, Experiment
from benchmarks.experiments.record import JobRecord, Record, Step

SETTLING = 45.0
"""The first half of each step of the service in seconds, which its utilisation ignores."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Means over the created jobs, in seconds; `unmet` of them never had it.

    Those count as if they had it at the end of the run; their true wait is longer.
    """

    mean: float
    longest: float
    unmet: int


@dataclass(frozen=True, slots=True)
class StepFigures:
    """One step of the service: how long it took to have all replicas, None for not at all.

    Shares of all CPU: `utilisation` in the step's second half, and three packing ceilings: all pods
    anywhere (`ceiling`); training jobs anywhere, the service where kube-scheduler has put it
    (`beside`); trainers anywhere, all other pods on their nodes (`around`).
    """

    replicas: int
    seconds: float | None
    utilisation: float
    ceiling: float
    beside: float
    around: float


def experiment_of(record: Record) -> Experiment:
    return EXPERIMENTS[record.circumstances.experiment]


def waits(record: Record, *, whole: bool = False) -> Waits:
    """The waits from creation until the minimum ran; `whole`: until the fixed size ran."""
    end = record.samples[-1].at
    jobs = [job for job in record.jobs if job.created is not None]
    had = [job.whole if whole else job.minimum for job in jobs]
    found = [_since(job, moment, end) for job, moment in zip(jobs, had, strict=True)]
    return Waits(mean(found), max(found), sum(moment is None for moment in had))


def _since(job: JobRecord, moment: float | None, end: float) -> float:
    return (end if moment is None else moment) - (job.created or 0.0)


def jain(sizes: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all sizes are equal, 1/n if one job has everything."""
    squares = sum(size * size for size in sizes)
    return sum(sizes) ** 2 / (len(sizes) * squares) if squares else 0.0


def sample_at(record: Record, at: float) -> Sample:
    """The last recorded sample up to this time."""
    return max((found for found in record.samples if found.at <= at), key=lambda one: one.at)


def sizes_at(record: Record, at: float) -> list[int]:
    """The trainers of each job that existed and was not done."""
    trainers = sample_at(record, at).trainers
    return [
        size
        for job, size in zip(record.jobs, trainers, strict=True)
        if job.created is not None
        and job.created <= at
        and (job.finished is None or job.finished > at)
    ]


def mean_jain(record: Record, window: tuple[float, float]) -> float:
    """The mean of Jain's index over the samples of a period that contain jobs."""
    return mean(jain(sizes_at(record, sample.at)) for sample in within(record, window))


def within(record: Record, window: tuple[float, float]) -> list[Sample]:
    return [found for found in record.samples if window[0] <= found.at <= window[1]]


def utilisation(record: Record, window: tuple[float, float]) -> float:
    """The mean share of all CPU that running pods request."""
    return mean(found.cpu for found in within(record, window)) / TOTAL_CPU


def packing_ceiling(experiment: Experiment, nginx: int = 0) -> float:
    """The highest possible utilisation with all jobs present and this many nginx pods."""
    jobs = experiment.jobs
    others = Others(jobs * experiment.pservers, nginx, jobs)
    most = others._replace(nginx=max((count for _, count in experiment.nginx), default=0))
    return ceiling(others, jobs * experiment.max, most=most).utilisation


def beside(experiment: Experiment, step: Step) -> float:
    """The highest utilisation if the service stays on the nodes that the scheduler chose."""
    jobs = experiment.jobs
    others = Others(jobs * experiment.pservers, 0, jobs)
    return ceiling(others, jobs * experiment.max, step.rooms).utilisation


def around(experiment: Experiment, step: Step) -> float:
    """The highest utilisation if only trainers can be moved, and other pods stay on their nodes."""
    return ceiling(Others(0, 0, 0), experiment.jobs * experiment.max, step.left).utilisation


def most_below(record: Record, window: tuple[float, float]) -> int:
    return max(found.below for found in within(record, window))


def lacking(record: Record) -> float:
    """The seconds below the minimum after having had it, summed over all jobs."""
    return sum(job.lacking for job in record.jobs)


def steps(record: Record) -> list[StepFigures]:
    """The steps of the service, including the initial one."""
    experiment = experiment_of(record)
    ends = [*(step.asked for step in record.steps[1:]), record.samples[-1].at]
    return [
        StepFigures(
            replicas=step.replicas,
            seconds=None if step.reached is None else step.reached - step.asked,
            utilisation=utilisation(record, _window(experiment, step.asked, end)),
            ceiling=packing_ceiling(experiment, step.replicas),
            beside=beside(experiment, step),
            around=around(experiment, step),
        )
        for step, end in zip(record.steps, ends, strict=True)
    ]


def _window(experiment: Experiment, start: float, end: float) -> tuple[float, float]:
    return (start + SETTLING, end) if experiment.nginx else experiment.window


def growths(found: Sequence[StepFigures]) -> list[float | None]:
    """The seconds that the service waited for each growth; None if it never completed."""
    return [after.seconds for before, after in pairwise(found) if after.replicas > before.replicas]


def is_back(record: Record) -> bool:
    """Whether the service has all of its first replicas again at the end."""
    return record.samples[-1].nginx == experiment_of(record).replicas


def completion(record: Record) -> list[float]:
    """The seconds from creation to completion of the completed jobs."""
    return [
        job.finished - job.created
        for job in record.jobs
        if job.finished is not None and job.created is not None
    ]


def makespan(record: Record) -> float | None:
    """When the last job was done; None if one was not."""
    ends = [job.finished for job in record.jobs]
    return max((end for end in ends if end is not None), default=None) if all(ends) else None
