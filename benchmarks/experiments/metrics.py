"""The figures of a run: each is a pure function of its record."""

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
"""Seconds of each step of the service, the first half, that its utilisation leaves out."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Means over the jobs that were created, in seconds; `unmet` of them never had it.

    Those count as if they had it at the end of the run: their true wait is longer.
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
    """From being created until all of its minimum ran; `whole`: of a job without us."""
    end = record.samples[-1].at
    jobs = [job for job in record.jobs if job.created is not None]
    had = [job.whole if whole else job.minimum for job in jobs]
    found = [_since(job, moment, end) for job, moment in zip(jobs, had, strict=True)]
    return Waits(mean(found), max(found), sum(moment is None for moment in had))


def _since(job: JobRecord, moment: float | None, end: float) -> float:
    return (end if moment is None else moment) - (job.created or 0.0)


def jain(sizes: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all are equal, 1/n if one has everything."""
    squares = sum(size * size for size in sizes)
    return sum(sizes) ** 2 / (len(sizes) * squares) if squares else 0.0


def sample_at(record: Record, at: float) -> Sample:
    """The last one that is kept until then."""
    return max((found for found in record.samples if found.at <= at), key=lambda one: one.at)


def sizes_at(record: Record, at: float) -> list[int]:
    """The trainers of each job that was there and not done."""
    trainers = sample_at(record, at).trainers
    return [
        size
        for job, size in zip(record.jobs, trainers, strict=True)
        if job.created is not None
        and job.created <= at
        and (job.finished is None or job.finished > at)
    ]


def mean_jain(record: Record, window: tuple[float, float]) -> float:
    """Over the samples of a time in which jobs are there."""
    return mean(jain(sizes_at(record, sample.at)) for sample in within(record, window))


def within(record: Record, window: tuple[float, float]) -> list[Sample]:
    return [found for found in record.samples if window[0] <= found.at <= window[1]]


def utilisation(record: Record, window: tuple[float, float]) -> float:
    """The mean share of all CPU that running pods ask for."""
    return mean(found.cpu for found in within(record, window)) / TOTAL_CPU


def packing_ceiling(experiment: Experiment, nginx: int = 0) -> float:
    """Highest possible utilisation with all jobs present and this many nginx pods."""
    jobs = experiment.jobs
    others = Others(jobs * experiment.pservers, nginx, jobs)
    most = others._replace(nginx=max((count for _, count in experiment.nginx), default=0))
    return ceiling(others, jobs * experiment.max, most=most).utilisation


def beside(experiment: Experiment, step: Step) -> float:
    """The same when the service stays where the scheduler has put it."""
    jobs = experiment.jobs
    others = Others(jobs * experiment.pservers, 0, jobs)
    return ceiling(others, jobs * experiment.max, step.rooms).utilisation


def around(experiment: Experiment, step: Step) -> float:
    """The same when only trainers can be moved: the other pods stay on their nodes."""
    return ceiling(Others(0, 0, 0), experiment.jobs * experiment.max, step.left).utilisation


def most_below(record: Record, window: tuple[float, float]) -> int:
    return max(found.below for found in within(record, window))


def lacking(record: Record) -> float:
    """Seconds that jobs had less than their minimum after they had had it, over all jobs."""
    return sum(job.lacking for job in record.jobs)


def steps(record: Record) -> list[StepFigures]:
    """Steps of the service, the initial one included."""
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
    """How long the service waited for each growth, in seconds; None for what never came."""
    return [after.seconds for before, after in pairwise(found) if after.replicas > before.replicas]


def is_back(record: Record) -> bool:
    """Whether the service has all of its first replicas again at the end."""
    return record.samples[-1].nginx == experiment_of(record).replicas


def completion(record: Record) -> list[float]:
    """From being created until the work was done, of the jobs that got there; seconds."""
    return [
        job.finished - job.created
        for job in record.jobs
        if job.finished is not None and job.created is not None
    ]


def makespan(record: Record) -> float | None:
    """When the last job was done, None if one was not."""
    ends = [job.finished for job in record.jobs]
    return max((end for end in ends if end is not None), default=None) if all(ends) else None
