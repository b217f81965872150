"""Leader election by a Lease, by client-go's rules (tools/leaderelection).

A holder is replaced only after its Lease was unchanged for its whole duration by our own monotonic
clock: clocks of machines are never compared. An unreachable API server is retried.
"""

import logging
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from threading import Event, Lock
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from edl.errors import ClusterError, Conflict, NotFound
from edl.kube.cluster import Cluster, find, server_time
from edl.kube.problem_log import ProblemLog
from edl.model import ObjectRef
from edl.writes import Json

_log: Final = logging.getLogger(__name__)


class LeaseSettings(msgspec.Struct, frozen=True):
    """client-go's settings, in seconds; a Lease lasts whole ones.

    A leader that could not renew for `renew_deadline` stops before `lease_duration` is over. A
    leader that was killed is replaced within `lease_duration` and two retries: less than 15 s. With
    client-go's defaults of 15, 10 and 2 it would take longer.
    """

    lease_duration: float = 10
    renew_deadline: float = 7.5
    retry_period: float = 1.5

    def __post_init__(self) -> None:
        duration, deadline, period = self.lease_duration, self.renew_deadline, self.retry_period
        if duration != int(duration):
            raise ValueError(f"leader election: {duration} s: a Lease lasts whole seconds")
        if not duration > deadline > period > 0:
            raise ValueError(
                f"leader election: {duration} s > {deadline} s > {period} s > 0 must hold (lease "
                "duration, renew deadline, retry period)"
            )


class LeaderState(Protocol):
    """Whether this process may act."""

    @property
    def leading(self) -> bool: ...


class AlwaysLeader:
    """The state without an election: this process always leads."""

    leading = True
    previous_annotations: Final[Mapping[str, str]] = {}

    def set_annotation(self, name: str, text: str) -> None:
        """Does nothing: there is no other leader."""


class Clocks(msgspec.Struct, frozen=True):
    """`now`, in UTC; `monotonic` seconds measure durations, also while the machine sleeps."""

    now: Callable[[], datetime]
    monotonic: Callable[[], float]

    def of_server(self, cluster: Cluster) -> "Clocks":
        """The same with the API server's time, by which it dates objects. Not for a Lease."""
        return replace(self, now=lambda: server_time(cluster, self.now()))


class LeaderElector:
    """A candidate for one Lease."""

    def __init__(
        self,
        cluster: Cluster,
        lease: ObjectRef,
        identity: str,
        clocks: Clocks,
        settings: LeaseSettings,
    ) -> None:
        self.identity = identity
        self._cluster = cluster
        self._lease = lease
        self._clocks = clocks
        self._settings = settings
        self._lock = Lock()
        self._publishing = Lock()
        """Several threads publish; `_lock` is held during requests to the API server."""
        self._seen: Json | None = None
        self._seen_at = 0.0
        self._known = False
        """`_seen` is the last write of this process; a foreign change would cause a conflict."""
        self._leads_until = float("-inf")
        self._problems = ProblemLog(_log)
        self._announced = False
        self._published: Mapping[str, str] = {}
        self._passed_on: Mapping[str, str] = {}
        self.previous_annotations: Mapping[str, str] = {}
        """The annotations of the Lease when this process last began to lead."""

    def publish(self, annotations: Mapping[str, str]) -> None:
        """Adds annotations that the Lease carries while this process holds it."""
        with self._publishing:
            self._published = {**self._published, **annotations}

    def set_annotation(self, name: str, text: str) -> None:
        """Adds an annotation that the Lease carries while this process leads.

        It is among the next leader's `previous_annotations`.
        """
        self._passed_on = {**self._passed_on, name: text}

    @property
    def leading(self) -> bool:
        return self._clocks.monotonic() < self._leads_until

    def run(
        self,
        stopped: Event,
        changed: Callable[[], None] = lambda: None,
        healthy: Callable[[], bool] = lambda: True,
    ) -> None:
        """Campaigns until `stopped`; `changed` is called when this process gains or loses the lead.

        While the process is not `healthy`, its Lease is neither acquired nor renewed.
        """
        while not stopped.is_set():
            before = self.leading, self._announced
            if not healthy():
                self._abstain()
            else:
                self.attempt()
            if (self.leading, self._announced) != before:
                changed()
            pause = self._settings.retry_period * random.uniform(1.0, 1.2)  # noqa: S311 - jitter
            stopped.wait(pause)

    def attempt(self) -> bool:
        """Acquires or renews the Lease once; returns whether this process leads now."""
        with self._lock:
            try:
                self._leads_until = self._acquire_or_renew()
                self._problems.clear()
            except Conflict:
                pass  # another candidate was faster; the next attempt reads its Lease
            except Exception as error:  # noqa: BLE001 - a dead thread would never campaign again
                bug = None if isinstance(error, ClusterError) else error
                message = "leader election: request failed, retrying: %s"
                self._problems.report(message, error, bug=bug)
            self._report_transition()
            return self._announced

    def _abstain(self) -> None:
        """Lets the Lease expire. It is not released, as a hanging request may still take effect."""
        with self._lock:
            message = "reconcile loop stalled: %s does not renew its Lease"
            self._problems.report(message, self.identity)
            self._report_transition()

    def release(self) -> None:
        """Releases the Lease, so that the next leader need not wait. Never raises."""
        with self._lock:
            led, self._leads_until = self.leading, float("-inf")
            if not led:
                return
            try:
                self._write({"holderIdentity": "", "leaseDurationSeconds": 1})
            except ClusterError as error:
                _log.warning("cannot release the Lease, it will expire: %s", error)
            else:
                _log.info("%s released the Lease", self.identity)

    def _acquire_or_renew(self) -> float:
        try:
            return self._try_acquire_or_renew(self._clocks.monotonic())
        except (Conflict, NotFound):  # its new holder may lead already: it is read at once
            return self._try_acquire_or_renew(self._clocks.monotonic())

    def _try_acquire_or_renew(self, now: float) -> float:
        """Until when this process leads, counted from before the request: answers may be late."""
        is_known, self._known = self._known, False
        if not is_known:
            self._read_lease()
        if self._seen is None:
            metadata = {"name": self._lease.name, "annotations": self._published}
            claim = self._claim(transitions=0)
            self._seen = self._cluster.create(self._lease, {"metadata": metadata, "spec": claim})
        elif _holder(self._seen) == self.identity:
            if self._leads_until == float("-inf"):  # a process of this identity led before
                self._inherit(self._seen)
            duration = int(self._settings.lease_duration)  # that process may have had another
            self._write({"leaseDurationSeconds": duration, "renewTime": self._time()})
        elif self._is_free(now):
            transitions = int(_spec(self._seen).get("leaseTransitions") or 0) + 1
            self._inherit(self._seen)
            self._write(self._claim(transitions))
        else:
            return float("-inf")
        self._known = True
        return now + self._settings.renew_deadline

    def _inherit(self, lease: Json) -> None:
        self._passed_on = {}
        self.previous_annotations = dict(lease["metadata"].get("annotations") or {})

    def _read_lease(self) -> None:
        """Reads the Lease.

        Another holder's time counts from this answer on: it may have renewed the Lease just now.
        """
        lease = find(self._cluster, self._lease)
        if lease is None:
            self._seen = None
        elif self._seen is None or _version(lease) != _version(self._seen):
            self._seen, self._seen_at = lease, self._clocks.monotonic()

    def _is_free(self, now: float) -> bool:
        """Whether the Lease was released, or not renewed for the duration that it states."""
        seen = self._seen or {}
        lasts = float(_spec(seen).get("leaseDurationSeconds") or self._settings.lease_duration)
        return not _holder(seen) or now > self._seen_at + lasts

    def _write(self, spec: Mapping[str, Any]) -> None:
        annotations = {**self._published, **self._passed_on}
        metadata = {"resourceVersion": _version(self._seen or {}), "annotations": annotations}
        body = {"metadata": metadata, "spec": spec}
        self._seen = self._cluster.patch(self._lease, body)

    def _claim(self, transitions: int) -> Json:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self._settings.lease_duration),
            "acquireTime": self._time(),
            "renewTime": self._time(),
            "leaseTransitions": transitions,
        }

    def _time(self) -> str:
        return self._clocks.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _report_transition(self) -> None:
        """Logs changes of the leadership, which may also have expired while the process slept."""
        if self._announced != self.leading:
            self._announced = not self._announced
            _log.info(
                "%s %s",
                self.identity,
                "became leader" if self._announced else "lost the leadership",
            )


def _spec(lease: Json) -> Json:
    spec: Json = lease.get("spec") or {}
    return spec


def _holder(lease: Json) -> str:
    return str(_spec(lease).get("holderIdentity") or "")


def _version(lease: Json) -> str:
    return str(lease["metadata"]["resourceVersion"])
