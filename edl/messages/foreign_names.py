"""Removes names of other namespaces' jobs and pods from reasons and blockers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from edl.messages.code_texts import UNNAMED_POD, unnamed_jobs
from edl.model import JobKey
from edl.model.causes.blockers import Outranked
from edl.model.causes.reason_subjects import ForeignJob, Minimum, Other, PendingPods

T = TypeVar("T", bound=msgspec.Struct)


class UnnamedJobs(JobKey):
    """Training jobs of other namespaces in a list: `2 jobs of team vision`."""

    __slots__ = ()

    @classmethod
    def of(cls, team: str, count: int) -> "UnnamedJobs":
        """`team`: "" if no teams are configured."""
        return cls("", unnamed_jobs(team, count))

    def __str__(self) -> str:
        return self.name


class NameRedaction(msgspec.Struct, frozen=True):
    """For the users of one namespace; `team_of` returns a namespace's team, "" without teams.

    `uids`: the uid of one Job of each training job, for decisions that read a stored reason.
    """

    namespace: str
    team_of: Callable[[str], str]
    uids: Mapping[JobKey, str] = {}

    def allowed(self, part: T) -> T:
        """A reason or a blocker without names of other namespaces' jobs and pods."""
        changed: dict[str, Any] = {}
        for name in part.__struct_fields__:
            value = getattr(part, name)
            if (new := self._allowed(value)) is not value:
                changed[name] = new
        if isinstance(part, PendingPods):
            changed["example"] = self._pod(part.example)
        if isinstance(part, Outranked):
            changed["pods"] = tuple(dict.fromkeys(map(self._pod, part.pods)))
        return structs.replace(part, **changed) if changed else part

    def _allowed(self, value: Any) -> Any:  # noqa: ANN401 - any field of a reason
        match value:
            case Other(job) | Minimum(job) if job.namespace != self.namespace:
                uid, team = self.uids.get(job, ""), self.team_of(job.namespace)
                owed = isinstance(value, Other) and value.guaranteed
                return ForeignJob(uid, team, isinstance(value, Minimum), owed)
            case msgspec.Struct():
                return self.allowed(value)
            case tuple() if any(isinstance(entry, JobKey) for entry in value):
                return tuple(self._jobs(value))
        return value

    def _jobs(self, keys: Iterable[JobKey]) -> Iterator[JobKey]:
        """The jobs of this namespace, then a count of the others per team."""
        others: Counter[str] = Counter()
        for key in keys:
            if key.namespace == self.namespace:
                yield key
            else:
                others[self.team_of(key.namespace)] += 1
        for team, count in others.items():
            yield UnnamedJobs.of(team, count)

    def _pod(self, name: str) -> str:
        """The `namespace/name` of a pod, or a placeholder for another namespace's pod."""
        is_own = name.partition("/")[0] == self.namespace
        return name if is_own else UNNAMED_POD
