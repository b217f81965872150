"""Reads the current logs of a training job, pod by pod."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import Final

from edl import contract
from edl.errors import ClusterError, Invalid, NotFound, Unreachable
from edl.job_state.phases import phase
from edl.kube.cluster import ListOptions, Log, LogRequest
from edl.model import TrainingJob
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.job_views.job_reasons import why
from kubectl_edl.logs.log_targets import SIMULATED, LogOptions, LogTarget, sources

_COLOURS: Final = (36, 32, 35, 33, 34)
"""ANSI: cyan, green, magenta, yellow, blue."""
_AHEAD: Final = 8
"""Logs that are opened while one is printed: each opening waits for a kubelet."""


@dataclass(frozen=True, slots=True)
class LogPrinter:
    """Prints lines as the options say; `colours` by role, empty for none.

    `first`: by label, the pod whose lines came first; those of its replacements are told apart.
    """

    cli: CliContext
    asked: LogOptions
    colours: Mapping[str, int]
    first: dict[str, str] = field(default_factory=dict)

    def line(self, line: str, source: LogTarget) -> None:
        """Print `[worker-3] step 1`, from a line that starts with its time.

        Of a replacement `[worker-3-x7k2p] step 1`, with the end of the pod's name.
        """
        text = line if self.asked.timestamps else line.partition(" ")[2]
        name = source.pod.name
        again = self.first.setdefault(source.label, name) != name
        mark = f"[{source.label}-{name.rpartition('-')[2]}]" if again else f"[{source.label}]"
        if source.role in self.colours:
            mark = f"\x1b[{self.colours[source.role]}m{mark}\x1b[0m"
        self.cli.out.write(f"{mark} {text}\n" if self.asked.prefix else f"{text}\n")


def colours(roles: Iterable[str]) -> Mapping[str, int]:
    """A colour per role in their order; colours repeat if there are too few."""
    return {role: _COLOURS[place % len(_COLOURS)] for place, role in enumerate(roles)}


def time_of(line: str) -> str:
    """The RFC 3339 time with which each line from the API starts."""
    return line.partition(" ")[0]


def find(
    connection: ClusterConnection, job: TrainingJob, asked: LogOptions
) -> tuple[LogTarget, ...]:
    """The log targets of a training job. Raises Refused for unknown names."""
    listed = connection.cluster.list(elastic_pods(job.key.namespace))
    return sources(job, listed.manifests(), asked)


def elastic_pods(namespace: str) -> ListOptions:
    return ListOptions("Pod", namespace, contract.FRAMEWORK)


def no_pods(job: TrainingJob, asked: LogOptions) -> str:
    """Why there are no logs; for one index, the job's phase would not explain it."""
    chosen = ", ".join(asked.role) + ("" if asked.index is None else f" index {asked.index}")
    whose = f" of {chosen.strip()}" if chosen else ""
    if asked.index is not None:
        return f"{job.key.name} has no pods{whose}"
    reason = why(job).message
    state = f"{phase(job).value}{f': {reason}' if reason else ''}"
    return f"{job.key.name} has no pods{whose}: it is {state}"


def read(connection: ClusterConnection, logs: tuple[LogTarget, ...], printer: LogPrinter) -> None:
    """Print the log of each target, also after one that a kubelet does not send.

    Raises Refused if none has a log, and Unreachable at the end if some could not be read.
    """
    missing, unread = list[str](), 0
    with closing(_openings(connection, logs, printer.asked)) as openings:
        for source, opening in openings:
            # One answer is enough: each other request would wait for a kubelet that is not there.
            reason = SIMULATED if source.simulated and SIMULATED in missing else ""
            try:
                why = reason or _print(opening, source, printer)
            except Unreachable as error:
                if len(logs) == 1 or opening.unanswered:
                    raise
                printer.cli.out.flush()  # the lines before it precede the warning
                printer.cli.warn(f"warning: {source.label}: {error}")
                unread += 1
                continue
            missing += [why] if why else []
    reasons = [*dict.fromkeys(missing)]
    none = bool(missing) and len(missing) == len(logs)
    if none and len(reasons) == 1:
        raise Refused(reasons[0])
    printer.cli.warn(*(f"hint: {why}" for why in reasons))
    if none:
        raise Refused(f"none of the {len(logs)} pods has a log")
    if unread:
        raise Unreachable(f"{unread} of {len(logs)} logs could not be read to the end")


def request(source: LogTarget, asked: LogOptions) -> LogRequest:
    return LogRequest(
        source.pod,
        source.container,
        previous=asked.previous,
        tail=asked.tail,
        since=None if asked.since is None else max(round(asked.since.total_seconds()), 1),
    )


class _Opening:
    """A log that a daemon thread opens: one that is still waiting delays no end of the program."""

    def __init__(self, open_log: Callable[[], Log]) -> None:
        self._open_log = open_log
        self._opened: Future[Log] = Future()
        self._started = False

    def start(self) -> None:
        if not self._started:
            self._started = True
            Thread(target=self._open, daemon=True).start()

    def log(self) -> Log:
        """The open log. Raises ClusterError."""
        self.start()
        return self._opened.result()

    @property
    def unanswered(self) -> bool:
        """Whether the API server did not answer, as opposed to a kubelet behind it."""
        error = self._opened.exception()
        return isinstance(error, ClusterError) and not error.status

    def close(self) -> None:
        """Close the log now, or as soon as it is open."""
        self._opened.add_done_callback(_close)

    def _open(self) -> None:
        try:
            self._opened.set_result(self._open_log())
        except Exception as error:  # noqa: BLE001 - raised again by `log`
            self._opened.set_exception(error)


def _close(opened: Future[Log]) -> None:
    if opened.exception() is None:
        opened.result().close()


def _openings(
    connection: ClusterConnection, targets: Iterable[LogTarget], asked: LogOptions
) -> Generator[tuple[LogTarget, _Opening]]:
    """The targets in their order; the next logs are opened meanwhile, and closed if unread."""
    ahead: deque[tuple[LogTarget, _Opening]] = deque()
    try:
        for source in targets:
            opening = _Opening(partial(connection.cluster.log, request(source, asked)))
            ahead.append((source, opening))
            if not (source.simulated or source.waiting):
                opening.start()
            if len(ahead) > _AHEAD:
                yield ahead[0]
                ahead.popleft()
        while ahead:
            yield ahead[0]
            ahead.popleft()
    finally:
        for _, opening in ahead:
            opening.close()


def _print(opening: _Opening, source: LogTarget, printer: LogPrinter) -> str:
    """Print one log; returns why there is none, or an empty text."""
    if source.waiting and not printer.asked.previous:
        return f"{source.label} has no log yet: {source.waiting}"
    try:
        for line in opening.log():
            printer.line(line, source)
    except (Invalid, NotFound) as error:
        return f"{source.label} has no log: {error}"
    except Unreachable:
        if source.simulated:
            return SIMULATED
        raise
    return ""
