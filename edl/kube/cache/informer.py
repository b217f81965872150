"""Lists, then watches one kind for as long as the process lives: one `Informer`, one thread.

An informer survives every failure. A watch that ends is resumed; one whose version is too old, or
that brings nothing several times, starts over with a list. Requests that fail are repeated with
exponential back-off.
"""

import logging
import random
from collections.abc import Callable
from http import HTTPStatus
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from edl.backoff import Backoff
from edl.errors import ClusterError, Forbidden, Gone, NotFound, Unreachable
from edl.kube.cache.store import Store, version_of
from edl.kube.cluster import RESOURCES, Cluster, ListOptions, RawEvent
from edl.kube.problem_log import ProblemLog

if TYPE_CHECKING:
    from edl.kube.cache.store import StoredObject
    from edl.kube.cluster import ObjectKey, Watch

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)

LONGEST_PAUSE: Final = 15.0
_BACKOFF: Final = Backoff(0.2, LONGEST_PAUSE)
_SELDOM: Final = 16
"""The number of failures that leads to the longest pause."""
RESUMES: Final = 3
"""Consecutive watches from one version without an event before everything is listed again."""
MISSING: Final = 15
"""Consecutive answers that a kind does not exist before one that was served counts as removed; with
their pauses, more than a minute. While a control plane is upgraded, not every API server serves a
new version."""
WITHHELD: Final = 80
"""Consecutive answers that a dispensable kind may no longer be read before it counts as empty, as
in a process that starts then; with their pauses, more than nine minutes. A ClusterRole that is
created again is there sooner."""


class RetryBackoff(msgspec.Struct, frozen=True):
    """Waits after failures. `pause` sleeps, and returns True if it was interrupted by `stop`."""

    pause: Callable[[float], bool]
    chance: Callable[[], float] = random.random

    def after(self, failures: int) -> bool:
        """Waits with exponential back-off, half of it random, so that clients spread out."""
        return self.pause(_BACKOFF.after(failures) * (0.5 + self.chance() / 2))


class Informer(Generic[T]):
    """Keeps one store up to date with the cluster.

    `restarted` is called for every new watch, `received` for every list, event and bookmark.
    """

    def __init__(
        self,
        cluster: Cluster,
        selection: ListOptions,
        store: Store[T],
        restarted: Callable[[], None] = lambda: None,
        received: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = store
        self.selection = selection
        self._cluster = cluster
        self._restarted = restarted
        self._received = received
        self._stopped = Event()
        self._lock = Lock()
        self._watch: Watch | None = None
        self._version = ""
        self._failures = 0
        self._refusals = 0
        self._missing = 0
        self._withheld = 0
        self._problems = ProblemLog(_log)

    def start(self) -> Thread:
        name = f"informer-{self.selection.kind}"
        thread = Thread(target=self.run, args=(RetryBackoff(self._stopped.wait),), name=name)
        thread.daemon = True  # a read that hangs must not keep the process
        thread.start()
        return thread

    def stop(self) -> None:
        self._stopped.set()
        with self._lock:
            if self._watch:
                self._watch.close()

    def run(self, patience: RetryBackoff) -> None:
        """Runs until `stop`."""
        while not self._stopped.is_set():
            succeeded = self._attempt()
            if not succeeded and patience.after(self._failures):
                return

    def _attempt(self) -> bool:
        """One list or one watch. False if it failed, or ended without an event."""
        try:
            if self._version and self._refusals < RESUMES:
                return self._follow()
            self._list()
        except Exception as error:  # noqa: BLE001 - a dead informer would keep its store stale
            if self._is_absent(error):
                self._absent(error)
            else:
                self._failed(error)
            return False
        return True

    def _is_absent(self, error: Exception) -> bool:
        """Whether this error of a list or watch means that the API server does not serve the kind.

        A kind that has been read counts as absent only after `MISSING` answers of discovery without
        it, or after `WITHHELD` refusals, when a new process would decide without it, too.
        """
        kind = RESOURCES[self.selection.kind]
        listed = self.store.synced and self.store.served
        if isinstance(error, NotFound) and kind.optional:
            if not self.store.served:
                return True
            unlisted = self._is_unlisted()
            if unlisted is not None:
                self._missing = self._missing + 1 if unlisted else 0
                return self._missing >= (MISSING if listed else 1)
        elif not (_may_not(error) and kind.dispensable):
            return False
        self._withheld += listed
        return not listed or self._withheld >= WITHHELD

    def _is_unlisted(self) -> bool | None:
        """Whether discovery lacks the kind; None in the few clusters that forbid discovery."""
        try:
            return not self._cluster.serves(self.selection.kind)
        except Exception as error:  # noqa: BLE001 - as in `_attempt`
            return None if _may_not(error) else False

    def _absent(self, error: Exception) -> None:
        """Empties the store; the kind may be served later."""
        if not isinstance(error, NotFound):
            self._report(error)
        self.store.mark_absent()
        if isinstance(error, NotFound) or not self._withheld:
            self._received()  # else a right was withdrawn: the age of the last answer tells
        self._version = ""
        self._failures = _SELDOM

    def _list(self) -> None:
        items: dict[ObjectKey, StoredObject[T]] = {}
        version = ""
        for page in self._cluster.pages(self.selection):
            version = version or page.version
            items.update((item.key, item) for item in map(self.store.item, page.items))
        self.store.replace(items, int(version))
        self._version = version
        self._refusals = self._missing = self._withheld = 0
        self._received()

    def _follow(self) -> bool:
        watch = self._cluster.watch(self.selection, self._version)
        with self._lock:
            self._watch = watch
        self._restarted()
        if self._stopped.is_set():
            watch.close()
        self._failures += 1
        self._refusals += 1  # both are reset by the first event
        for event in watch:
            self._take(event)
            self._failures = self._refusals = self._withheld = 0
            self._received()
            if self._problems.clear():
                _log.info("watch of %s works again", self.selection.kind)
        return self._failures == 0

    def _take(self, event: RawEvent) -> None:
        if event.type == "BOOKMARK":
            version = version_of(event.object)
            self.store.advance(version)
        else:
            version = self.store.apply_event(event.object, gone=event.type == "DELETED")
        self._version = str(version)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self._refusals += not _is_away(error)
        if not (isinstance(error, Gone) and self._version):  # the version of a watch expires often
            self._report(error)
        if not _can_resume(error):
            self._version = ""

    def _report(self, error: Exception) -> None:
        bug = None if isinstance(error, ClusterError) else error
        message = "watch of %s failed, retrying: %s"
        self._problems.report(message, self.selection.kind, error, bug=bug)


def _may_not(error: Exception) -> bool:
    """Whether the error is a 403. A 401 tells nothing about the kind: credentials are renewed."""
    return isinstance(error, Forbidden) and error.status == HTTPStatus.FORBIDDEN


def _is_away(error: Exception) -> bool:
    """Whether there was no answer, or a 429: as for client-go, our version may still be valid."""
    return isinstance(error, Unreachable) and error.status in (0, HTTPStatus.TOO_MANY_REQUESTS)


def _can_resume(error: Exception) -> bool:
    """Whether a watch may resume from our version.

    Not after a 504: the API server does not know our version yet, and after a restored backup it
    never will.
    """
    return isinstance(error, Forbidden | Unreachable) and error.status != HTTPStatus.GATEWAY_TIMEOUT
