"""Follows the logs of a training job, including pods created later, until the job has ended.

One thread per log reads it; one more waits for changes in the cluster. They only put actions into
one inbox, which the main thread carries out.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from queue import Queue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import structs

from edl.errors import ClusterError, Invalid, NotFound, Unreachable
from edl.kube.cluster import LogRequest, PluginCluster
from kubectl_edl.logs.log_targets import SIMULATED, LogTarget
from kubectl_edl.logs.read_logs import time_of

if TYPE_CHECKING:
    from edl.kube.cluster import Log

MAX_LOGS: Final = 100
"""The most logs followed at once: each is a connection through the API server to a kubelet."""
_WAITING: Final = 10_000
"""Lines that readers may be ahead of the printer."""
_Run: TypeAlias = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class FollowedPods:
    """The logs of the training job at one moment, and its state in a sentence.

    `over`: it has ended, and no further pods are expected.
    """

    sources: tuple[LogTarget, ...]
    state: str
    over: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    line: Callable[[str, LogTarget], None]
    message: Callable[[str], None]


class Reader:
    def __init__(self, cluster: PluginCluster, wanted: LogRequest) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._log: Log | None = None
        self._closed = False

    def start(
        self, line: Callable[[str], None], end: Callable[[ClusterError | None], None]
    ) -> None:
        """Read in a thread; it calls `end` with the error, None for a log that ended normally."""
        Thread(target=self._read, args=(line, end), daemon=True).start()

    def close(self) -> bool:
        """Close the log, now or as soon as it is open; whether it is open, so that its end comes.

        The kubelet opens the log of a silent container with its first line, minutes later or never.
        """
        self._closed = True  # before the look, as the log may open at any moment
        log = self._log
        if log is not None:
            log.close()
        return log is not None

    def _read(
        self, line: Callable[[str], None], end: Callable[[ClusterError | None], None]
    ) -> None:
        error: ClusterError | None = None
        try:
            self._log = self._cluster.log(self._wanted)
            if self._closed:  # closed while it was being opened
                self._log.close()
            for text in self._log:
                line(text)
        except ClusterError as caught:
            error = caught
        finally:
            end(error)


@dataclass(slots=True)
class _Track:
    """The state of one log: its reader while it is read, and the time of its last line."""

    source: LogTarget
    first: LogRequest
    reader: Reader | None = None
    last: str = ""
    resumed: bool = False
    complete: bool = False
    excused: bool = False
    """It was reported as unreadable; each wake-up tries again."""


class Follower:
    """Follows the logs of one training job. `first` requests logs that exist at the start."""

    def __init__(
        self,
        cluster: PluginCluster,
        current: Callable[[], FollowedPods],
        first: Callable[[LogTarget], LogRequest],
        output: Output,
    ) -> None:
        self._cluster = cluster
        self._current = current
        self._first = first
        self._output = output
        self._inbox: Queue[Callable[[], None]] = Queue(_WAITING)
        self._tracks: dict[_Run, _Track] = {}
        self._unread: deque[_Track] = deque()
        """Logs to read as soon as fewer than MAX_LOGS are being read."""
        self._readers = 0
        self._unbegun = False
        self._last_message = ""
        self._verdict = ""
        self._over = False

    def run(self, changes: Iterator[None]) -> None:
        """Run until the training job or `changes` has ended. Raises errors of looks and logs."""
        self._read_again()
        seen = Semaphore(0)
        Thread(target=self._watch, args=(changes, seen), daemon=True).start()
        while not self._over or self._readers:
            self._inbox.get()()
        self._print_message(self._verdict)

    def _watch(self, changes: Iterator[None], seen: Semaphore) -> None:
        try:
            for _ in changes:
                self._inbox.put(partial(self._look, seen))
                seen.acquire()
        finally:
            self._inbox.put(self._stop)

    def _look(self, seen: Semaphore) -> None:
        self._read_again()
        seen.release()

    def _read_again(self) -> None:
        """Read logs that have begun; once the job is over, close logs of pods that run on."""
        if self._over:
            return
        try:
            pods = self._current()
        except Unreachable as error:
            self._print_message(f"waiting: {error}")
            return
        begun = [source for source in pods.sources if not source.waiting]
        self._unbegun = len(begun) < len(pods.sources)
        tracks = [self._track(source) for source in begun]
        self._unread = deque(
            track
            for track in tracks
            if not (track.reader or (track.complete and track.source.ended))
        )
        if pods.over:
            self._over, self._verdict = True, pods.state
            self._unread = deque(track for track in self._unread if not track.source.stays)
            for source in pods.sources:
                if source.stays and (track := self._tracks.get(source.run)):
                    self._close(track)
        self._start_readers()
        if self._unread:
            self._print_message(
                f"hint: follows {MAX_LOGS} logs at once, the others as these end; choose with "
                "--role or --index"
            )
        elif not begun and not pods.over:
            self._print_message(pods.state)
        self._first = lambda source: LogRequest(source.pod, source.container)  # all lines

    def _track(self, source: LogTarget) -> _Track:
        track = self._tracks.get(source.run)
        if track is None:
            first = structs.replace(self._first(source), follow=True)
            track = self._tracks[source.run] = _Track(source, first)
        track.source = source
        return track

    def _start_readers(self) -> None:
        while self._unread and self._readers < MAX_LOGS:
            track = self._unread.popleft()
            track.reader = Reader(self._cluster, _request(track))
            track.reader.start(
                self._later(self._take, track), self._later(self._finish, track, track.reader)
            )
            self._readers += 1

    def _later(self, act: Callable[..., None], *what: object) -> Callable[[object], None]:
        """A function for another thread, which puts the action on its argument into the inbox."""
        return lambda found: self._inbox.put(partial(act, *what, found))

    def _take(self, track: _Track, text: str) -> None:
        time = time_of(text)
        if track.resumed and time <= track.last:  # the API resumes at whole seconds
            return
        # From here on all lines are new, even if several have the same time.
        track.last, track.resumed, track.excused = time, False, False
        self._output.line(text, track.source)

    def _finish(self, track: _Track, reader: Reader, error: ClusterError | None) -> None:
        """Note the end of its log, unless it was closed while it was being opened."""
        if track.reader is not reader:
            return
        track.reader = None
        self._readers -= 1
        track.complete = error is None or isinstance(error, NotFound)
        if isinstance(error, Unreachable):
            if not track.excused:
                self._print_message(SIMULATED if track.source.simulated else f"waiting: {error}")
            track.excused = True
            if not self._unbegun and all(
                other.excused and other.source.simulated for other in self._tracks.values()
            ):
                self._stop()
        elif error is not None and not isinstance(error, Invalid | NotFound):
            raise error
        self._start_readers()

    def _stop(self) -> None:
        """Close every log that is still followed, unless the job is already over."""
        if self._over:
            return
        self._over = True
        self._unread.clear()
        for track in self._tracks.values():
            self._close(track)

    def _close(self, track: _Track) -> None:
        """Close its log, and wait for no end of one that is still being opened."""
        if track.reader and not track.reader.close():
            track.reader = None
            self._readers -= 1

    def _print_message(self, text: str) -> None:
        if text and text != self._last_message:
            self._output.message(text)
        self._last_message = text


def _request(track: _Track) -> LogRequest:
    """The lines after the last one that was read."""
    if not track.last:
        return track.first
    track.resumed = True
    return LogRequest(track.source.pod, track.source.container, follow=True, after=track.last)
