"""`LeaderOnlyCluster`: a `Cluster` that refuses writes once this process no longer leads."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from edl.errors import AlreadyExists, ClusterError, Conflict, Forbidden, NotFound
from edl.kube.cluster import Cluster
from edl.kube.cluster_decorator import ClusterDecorator
from edl.model import ObjectRef
from edl.writes import Json
from reconciler.leader_election import LeaderState


class NotLeading(ClusterError):
    """The leadership was lost between a decision and its write."""


OUTCOMES: Final[Mapping[type[Exception], str]] = {
    Forbidden: "forbidden",
    Conflict: "conflict",
    AlreadyExists: "conflict",
    NotFound: "gone",
    NotLeading: "not-leading",
}
"""Outcomes of a write by error, besides "done" and "failed"."""


class WriteOutcome(msgspec.Struct, frozen=True):
    """One write: `kind` is one of the kinds that we write; for `outcome` see OUTCOMES."""

    verb: str
    kind: str
    outcome: str
    seconds: float


class LeaderOnlyCluster(ClusterDecorator):
    """A cluster whose writes need the leadership.

    It is checked before each write, not only before each round: a round may outlast the Lease.
    """

    def __init__(
        self,
        cluster: Cluster,
        leadership: LeaderState,
        observe: Callable[[WriteOutcome], None] = lambda _outcome: None,
    ) -> None:
        super().__init__(cluster)
        self._leadership = leadership
        self._observe = observe

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        with self._writing("create", target):
            return super().create(target, manifest, dry_run=dry_run)

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        with self._writing("patch", target):
            return super().patch(target, body, dry_run=dry_run)

    def add_condition(self, target: ObjectRef, condition: Mapping[str, str], version: str) -> Json:
        with self._writing("patch", target):
            return super().add_condition(target, condition, version)

    def delete(self, target: ObjectRef, *, version: str = "", uid: str = "") -> None:
        with self._writing("delete", target):
            super().delete(target, version=version, uid=uid)

    @contextmanager
    def _writing(self, verb: str, target: ObjectRef) -> Iterator[None]:
        begun = time.monotonic()
        outcome = "done"
        try:
            self._check(target)
            yield
        except Exception as error:
            outcome = OUTCOMES.get(type(error), "failed")
            raise
        finally:
            self._observe(WriteOutcome(verb, target.kind, outcome, time.monotonic() - begun))

    def _check(self, target: ObjectRef) -> None:
        if not self._leadership.leading:
            raise NotLeading(
                f"{target.kind} {target.name} is not written: another process leads now"
            )
