"""What blocks the start of one training job, or one more replica of a role.

A decision gives one reason per job. This module removes that blocker from the input and decides
again, until the job gets more. The removed blockers are the complete explanation: the last decision
has verified that removing them suffices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, NamedTuple

import msgspec

from edl.job_state import phases
from edl.model import Code, JobKey, Role, TrainingJob
from edl.model.causes.blockers import Blocker, InProgress, Outranked
from edl.model.causes.reason_codes import PROMISING_CODES
from edl.planner.decision import Decision
from edl.planner.explain.diagnosis import (
    Subject,
    growth_blockers,
    is_final,
    is_last,
    start_blockers,
)
from edl.planner.explain.remedies import as_found, asks_again, least, merged, without_blockers
from edl.planner.explain.what_if_state import DecisionInput

_ROUNDS: Final = 16
"""Most decisions to search for one explanation."""
_FIRST: Final = Code.NOT_PLANNED


class BlockerSearch(msgspec.Struct, frozen=True):
    """What a search has `found`, in order: the job gets more once all of these are removed.

    `complete` is False if there may be more blockers, or if removing them does not help.
    """

    found: tuple[Blocker, ...] = ()
    complete: bool = True

    @property
    def final(self) -> bool:
        """Whether the role keeps its size until the job ends."""
        return any(map(is_final, self.found))


class _Aim(NamedTuple):
    """What a search is for: whether a decision has reached it, and what blocks it if not."""

    gained: Callable[[Decision], bool]
    find: Callable[[DecisionInput, Decision], Sequence[Blocker]]


def find_start_blockers(
    given: DecisionInput, decision: Decision, key: JobKey
) -> BlockerSearch | None:
    """What blocks the start of a training job; None if it does not wait, or does not exist.

    `decision`: that on `given`, which serves for all jobs.
    """
    job = given.job(key)
    return DecidedJob(given, job, decision).start() if job else None


@dataclass(frozen=True)
class DecidedJob:
    """One training job, an input, and the decision on that input."""

    situation: DecisionInput
    job: TrainingJob
    decision: Decision

    @cached_property
    def suspended(self) -> bool:
        """Whether any role of the job is still suspended after this plan."""
        over = phases.ending(self.job) is not None or not self.job.live
        stopped = self.decision.why_stopped(self.job.key)
        was = any(role.status.suspended for role in self.job.live)
        starts = self.decision.starts(self.job.key)
        return not over and (stopped is not None or (was and not starts))

    def start(self) -> BlockerSearch | None:
        """What blocks the start; None unless the job is suspended after the decision."""
        if not self.suspended:
            return None
        key, jobs = self.job.key, {role.job for role in self.job.live}

        def started(decision: Decision) -> bool:
            allocated = {
                allocation.role.job
                for allocation in decision.snapshot.allocations
                if allocation.job.key == key
            }
            return jobs <= allocated

        return self._search(
            "", _Aim(started, lambda what_if, decision: start_blockers(what_if, decision, key))
        )

    def growth(self, role: Role) -> BlockerSearch | None:
        """What blocks one more replica; None for a role that waits with the job, or has ended."""
        allocation = self.decision.allocation(self.job.key, role.name)
        if self.suspended or allocation is None:
            return None
        key, before = self.job.key, allocation.planned_size

        def grown(decision: Decision) -> bool:
            there = decision.allocation(key, role.name)
            return there is not None and there.planned_size > before

        def find(what_if: DecisionInput, decision: Decision) -> Sequence[Blocker]:
            there = decision.allocation(key, role.name)
            # A job that starts in this plan may no longer start if a bound is raised.
            return (
                growth_blockers(what_if, decision, there)
                if there
                else start_blockers(what_if, decision, key)
            )

        return self._search(role.name, _Aim(grown, find))

    def _search(self, role: str, aim: _Aim) -> BlockerSearch:
        blockers: tuple[Blocker, ...] = ()
        seen: list[Blocker] = []
        what_if, decision = self.situation, self.decision
        before: Decision | None = None
        for _ in range(_ROUNDS):
            if aim.gained(decision):
                return self._least(blockers, (), aim)
            first = self._first(role, _recipients(before, decision))
            # If the jobs that gained are known blockers, they hold no more; diagnose again.
            new = first if merged(blockers, first) != blockers else aim.find(what_if, decision)
            demands = decision.snapshot.state.demands
            if (not new or asks_again(blockers, new)) and demands:
                pods = sorted(demand.example for demand in demands)
                new = [Outranked(_FIRST, (), tuple(pods))]
            seen += new
            more = merged(blockers, new)
            if more == blockers:
                break
            blockers = more
            if any(is_last(blocker, self.job) for blocker in blockers):
                awaited = tuple(blocker for blocker in blockers if isinstance(blocker, InProgress))
                if not awaited:
                    break
                return self._least(
                    tuple(other for other in blockers if other not in awaited), awaited, aim
                )
            before = decision
            what_if = without_blockers(self.situation, self.job.key, blockers)
            decision = what_if.run_passes()
        return BlockerSearch(as_found(blockers, seen), complete=False)

    def _least(
        self, blockers: tuple[Blocker, ...], awaited: Sequence[Blocker], aim: _Aim
    ) -> BlockerSearch:
        """The least of `blockers` that suffices; `awaited`: what is in progress without them."""

        @cache
        def under_way(removed: Sequence[Blocker]) -> Sequence[Blocker] | None:
            what_if = without_blockers(self.situation, self.job.key, removed)
            decision = what_if.run_passes()
            if aim.gained(decision):
                return ()
            return [
                blocker
                for blocker in aim.find(what_if, decision)
                if isinstance(blocker, InProgress)
            ] or None

        needed = least(blockers, lambda removed: under_way(removed) is not None)
        then = awaited if needed == blockers else under_way(needed) or ()
        return BlockerSearch((*needed, *then))

    def _first(self, role: str, recipients: Mapping[Subject, int]) -> Sequence[Blocker]:
        """The jobs or sibling roles that got the capacity which removing blockers freed.

        `role` "" stands for the whole job. Empty if this role got, or reserved, capacity too: what
        others have got besides is not in its way.
        """
        key = self.job.key
        if (key, role) in recipients:
            return ()
        own_sizes = tuple((name, size) for (job, name), size in recipients.items() if job == key)
        siblings = tuple(pair for pair in own_sizes if role not in ("", pair[0]))
        jobs = tuple(dict.fromkeys(job for job, _ in recipients if job != key))
        return [Outranked(_FIRST, jobs, roles=siblings)] if siblings or jobs else ()


def _recipients(before: Decision | None, after: Decision) -> Mapping[Subject, int]:
    """Roles that have more replicas now than before, with their sizes before."""
    if before is None:
        return {}
    had, have = _holdings(before), _holdings(after)
    return {
        subject: had.get(subject, 0)
        for subject, size in sorted(have.items())
        if size > had.get(subject, 0)
    }


def _holdings(decision: Decision) -> dict[Subject, int]:
    """Replicas by role, including pipelined ones.

    A queued job that has reserved capacity counts 1 as a whole, under role "".
    """
    reasons = decision.results.wait_reasons
    waiting: dict[Subject, int] = {
        (key, ""): 1 for key in reasons if reasons[key].code in PROMISING_CODES
    }
    return waiting | {
        (allocation.job.key, allocation.role.name): allocation.size
        for allocation in decision.snapshot.allocations
    }
