"""The demo's promises, checked with every sample; the demo fails if one is broken."""

from dataclasses import dataclass, field

from dev.demo.samples import JobLook, Look

UNTOUCHED = ("mnist-chief", "mnist-ps")


@dataclass(slots=True)
class Expectations:
    """The broken promises, each listed once, and the data for checking the next sample."""

    broken: list[str] = field(default_factory=list)
    least: dict[str, int] = field(default_factory=dict)
    """The fewest running pods of each Job, since its minimum first ran."""
    fewest: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    resizes: dict[str, int] = field(default_factory=dict)
    jobs: dict[str, JobLook] = field(default_factory=dict)
    """Each Job as in the last sample that contained it."""
    uids: dict[tuple[str, str], str] = field(default_factory=dict)
    replaced: dict[str, set[str]] = field(default_factory=dict)

    def see(self, look: Look) -> None:
        for name, job in look.jobs.items():
            self._see_size(name, job)
            self.jobs[name] = job
        for pod, uid in look.uids.items():
            if pod[0] in UNTOUCHED and self.uids.setdefault(pod, uid) != uid:
                self.replaced.setdefault(pod[0], set()).add(uid)
                self.fail(f"{pod[0]} index {pod[1]} was replaced: it must never be touched")

    def _see_size(self, name: str, job: JobLook) -> None:
        if job.suspended or job.done or job.size == 0 or job.succeeded:
            self.least.pop(name, None)  # not started, or about to finish
            return
        if not job.min <= job.size <= job.max:
            self.fail(f"{name} was sized {job.size}, outside {job.min}..{job.max}")
        before = self.jobs.get(name)
        if before and not before.suspended and before.size != job.size:
            self.resizes[name] = self.resizes.get(name, 0) + 1
        self.most[name] = max(job.size, self.most.get(name, 0))
        self.fewest[name] = min(job.size, self.fewest.get(name, job.size))
        if name in self.least or job.running >= job.min:
            self.least[name] = min(job.running, self.least.get(name, job.running))
        if self.least.get(name, job.min) < job.min:
            self.fail(f"{name} fell to {self.least[name]} running pods, below its min {job.min}")

    def expect(self, holds: bool, promise: str) -> None:  # noqa: FBT001 - reads as a sentence
        if not holds:
            self.fail(promise)

    def fail(self, what: str) -> None:
        if what not in self.broken:
            self.broken.append(what)

    def table(self) -> list[str]:
        """An aligned table, one row per Job: bounds, fewest and most pods, resizes, replaced."""
        head = ("JOB", "MIN", "MAX", "FEWEST", "MOST", "RESIZES", "PODS REPLACED")
        rows = [head, *(self._row(name) for name in sorted(self.jobs))]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        return [
            "  " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]

    def _row(self, name: str) -> tuple[str, ...]:
        job = self.jobs[name]
        seen = (job.min, job.max, self.fewest.get(name, 0), self.most.get(name, 0))
        replaced = str(len(self.replaced.get(name, ()))) if name in UNTOUCHED else "—"
        return (name, *map(str, seen), str(self.resizes.get(name, 0)), replaced)
