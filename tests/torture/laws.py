"""The laws, judged on what an observer sees: pure, event by event. Times are monotonic seconds.

Some hold at every moment. Others may be broken for a while, because several objects cannot change
at once, and because nobody repairs while the control plane itself is away: those have a patience.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tests.torture.sights import COUNTED, JobSight, PodSight

BLIND: Final = 30.0
"""Seconds after a fault of the control plane for which kube-scheduler may not know what it bound.

When the answer to a binding is lost it takes the room for free until its watch is back: it binds
more there than fits, and a real kubelet would refuse the last pod. Told, and not held against us.
"""
LATE: Final = 60.0
"""Seconds that views of two watches, or a controller that is down, may differ from each other."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that was broken: by whom, and what was seen."""

    law: str
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.law}: {self.who}: {self.what}"


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for which a state may last that must not stay."""

    half_gang: float
    late: float = LATE


class Judge:
    """What is known now, and what was found. `allocatable` by node, in the order of COUNTED."""

    def __init__(self, allocatable: Mapping[str, tuple[int, ...]], patience: Patience) -> None:
        self._allocatable = allocatable
        self._patience = patience
        self.jobs: dict[str, JobSight] = {}
        self.pods: dict[str, PodSight] = {}
        self.violations: list[Violation] = []
        self.longest: dict[str, float] = defaultdict(float)
        """Of each law with a patience, for how long it was broken at most."""
        self.events = 0
        self.overbound: set[tuple[str, str]] = set()
        """Nodes, with the pod for which kube-scheduler had no room left, after a fault."""
        self._now = 0.0
        self._struck_at = float("-inf")
        self._used: dict[str, list[int]] = {
            node: [0] * len(COUNTED) for node in sorted(allocatable)
        }
        self._since: dict[tuple[str, str], float] = {}
        self._blind: set[str] = set()
        self._of_job: dict[str, set[str]] = defaultdict(set)
        self.most_used = 0.0
        """The largest part of a node's CPU that pods held."""

    # -- what happens -------------------------------------------------------------------------

    def see_job(self, job: JobSight) -> None:
        self.events += 1
        before = self.jobs.get(job.uid)
        self._in_bounds(job)
        if before:
            self._started_once(before, job)
        if job.ending == "Failed" and not (before and before.ending):
            self._break("every job ends well", job.name, f"it failed: {job.reason}")
        self.jobs[job.uid] = job
        self._blind.discard(job.uid)

    def see_pod(self, pod: PodSight, *, listed: bool = False) -> None:
        """`listed`: it may have been there for long."""
        self.events += 1
        before = self.pods.get(pod.uid)
        if not (before or listed):
            self._not_done_yet(pod)
        if before and before.holds:
            self._add(before, -1)
        if pod.holds:
            self._add(pod, 1)
            self._fits(pod)
        self._keep(pod)

    def strike(self, now: float) -> None:
        """A part of the control plane is hit, or has come back."""
        self._struck_at = now

    def relisted(self, jobs: Iterable[JobSight]) -> None:
        """A watch was lost: what happened meanwhile is not known, only how it ended."""
        found = {job.uid: job for job in jobs}
        self._blind |= self.jobs.keys()
        for uid in self.jobs.keys() - found.keys():
            if not self.jobs[uid].gone:
                self.see_job(replace(self.jobs[uid], gone=True))
        for job in found.values():
            self.see_job(job)

    def relisted_pods(self, pods: Iterable[PodSight]) -> None:
        found = {pod.uid: pod for pod in pods}
        for uid in self.pods.keys() - found.keys():
            self.see_pod(replace(self.pods[uid], gone=True))
        for pod in found.values():
            self.see_pod(pod, listed=True)

    # -- laws of every moment -----------------------------------------------------------------

    def _in_bounds(self, job: JobSight) -> None:
        least, most = job.bounds
        # 0/0 ends a role when its training job is decided.
        if job.runs and job.size and not least <= job.size <= most:
            self._break("min ≤ size ≤ max", job.name, f"{job.size} of {least}..{most}")

    def _started_once(self, before: JobSight, job: JobSight) -> None:
        if job.starts > 1 and job.starts > before.starts:
            self._break("nobody starts twice", job.name, f"its history tells of {job.starts}")
        unseen = job.uid in self._blind
        if before.started_at and job.started_at != before.started_at and before.runs and not unseen:
            what = f"started at {before.started_at} and again at {job.started_at} while it ran"
            self._break("nobody starts twice", job.name, what)

    def _not_done_yet(self, pod: PodSight) -> None:
        """What a shrink leaves out is forgotten by the Job controller, and may run again."""
        job = self.jobs.get(pod.job)
        if job and pod.index in job.completed:
            self._break("no index is done twice", pod.name, f"index {pod.index} had been counted")

    def _fits(self, pod: PodSight) -> None:
        room = self._allocatable.get(pod.node)
        if room is None:
            return
        used = self._used[pod.node]
        self.most_used = max(self.most_used, used[0] / room[0])
        for name, asked, most in zip(COUNTED, used, room, strict=True):
            if asked > most:
                if self._now - self._struck_at < BLIND:
                    self.overbound.add((pod.node, pod.uid))
                else:
                    what = f"{name} {asked} of {most} with {pod.name}"
                    self._break("never over allocatable", pod.node, what)

    # -- laws with patience -------------------------------------------------------------------

    def look(self, now: float) -> None:
        """What lasts already, and for how long."""
        self._now = now
        broken = {
            (law, who): (what, patience)
            for law, patience, find in self._lasting()
            for who, what in find()
        }
        for key in [key for key in self._since if key not in broken]:
            del self._since[key]
        for key, (what, patience) in broken.items():
            since = self._since.setdefault(key, now)
            self.longest[key[0]] = max(self.longest[key[0]], now - since)
            if now - since > patience:
                self._break(*key, f"{what}, for {now - since:.0f} s")
                self._since[key] = float("inf")  # said once

    def _lasting(self) -> Iterator[tuple[str, float, Callable[[], Iterator[tuple[str, str]]]]]:
        patience = self._patience
        yield "all roles or none", patience.half_gang, self._half_started
        yield "the minimum is on nodes", patience.half_gang, self._half_bound
        yield "one pod an index", patience.late, self._doubles
        yield "no more is admitted than there is", patience.late, self._overdrawn

    def _half_started(self) -> Iterator[tuple[str, str]]:
        for training, jobs in self._trainings().items():
            live = [job for job in jobs if not job.ending]
            if len({job.suspended for job in live}) > 1:
                waiting = [job.name for job in live if job.suspended]
                yield training, f"{', '.join(waiting)} of {len(live)} waits"

    def _half_bound(self) -> Iterator[tuple[str, str]]:
        for job in self.jobs.values():
            if job.runs and (need := min(job.bounds[0], self._left(job))):
                bound = sum(pod.holds and not pod.terminating for pod in self._pods_of(job))
                if bound < need:
                    yield job.name, f"{bound} of its first {need} pods"

    def _doubles(self) -> Iterator[tuple[str, str]]:
        seen: dict[tuple[str, int], int] = defaultdict(int)
        for pod in self.pods.values():
            if pod.runs and pod.job and pod.index is not None:
                seen[pod.job, pod.index] += 1
        for (job, index), pods in seen.items():
            if pods > 1 and job in self.jobs:
                yield f"{self.jobs[job].name}-{index}", f"{pods} pods run"

    def _overdrawn(self) -> Iterator[tuple[str, str]]:
        asked = [0] * len(COUNTED)
        for job in self.jobs.values():
            if job.runs:
                for place, amount in enumerate(job.request):
                    asked[place] += amount * self._left(job)
        for place, name in enumerate(COUNTED):
            whole = sum(room[place] for room in self._allocatable.values())
            if asked[place] > whole:
                yield name, f"{asked[place]} of {whole}"

    # -- what the laws are made of ------------------------------------------------------------

    def _left(self, job: JobSight) -> int:
        """How many pods it is to have: what has succeeded is not run again."""
        ended = {pod.index for pod in self._pods_of(job) if pod.phase == "Succeeded"}
        if job.completions is not None:
            return max(0, min(job.size, job.completions - len(job.completed | ended)))
        # Without completions the first success means: no more are made.
        return 0 if ended else job.size

    def _trainings(self) -> Mapping[str, list[JobSight]]:
        found = defaultdict(list)
        for job in self.jobs.values():
            if not job.gone:
                found[job.training].append(job)
        return found

    def _pods_of(self, job: JobSight) -> list[PodSight]:
        return [self.pods[uid] for uid in self._of_job.get(job.uid, ())]

    def _keep(self, pod: PodSight) -> None:
        if pod.gone:
            self.pods.pop(pod.uid, None)
            self._of_job[pod.job].discard(pod.uid)
        else:
            self.pods[pod.uid] = pod
            self._of_job[pod.job].add(pod.uid)

    def _add(self, pod: PodSight, sign: int) -> None:
        used = self._used.setdefault(pod.node, [0] * len(COUNTED))
        for place, amount in enumerate(pod.request):
            used[place] += sign * amount

    def _break(self, law: str, who: str, what: str) -> None:
        self.violations.append(Violation(law, who, what))
