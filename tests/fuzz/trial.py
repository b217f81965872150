"""What becomes of a generated review: through the app as it is served, and judged by laws."""

import base64
import ctypes
import io
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, cast
from wsgiref.types import WSGIEnvironment

import jsonpatch
import msgspec

from edl import contract
from edl.inject import handlers
from edl.inject.handlers import AdmissionRequest, AdmissionVerdict, Context
from edl.model import ObjectRef
from edl.parsing.namespace_policy import SILENT
from edl.patches import json_patch
from edl.writes import Json
from tests.edl.manifests import CONTEXT
from tests.fake_cluster.cluster import FakeCluster
from tests.fuzz.generated import Case
from webhook.admission_review import decode
from webhook.handler import INTERNAL_ERROR, AdmissionCore
from webhook.http.body_budget import weight
from webhook.http.deferred_calls import MAY_WAIT
from webhook.namespace_policies import WatchedPolicies
from webhook.routes import RouteContext, add_review_routes, create_app

_NAMESPACES: Final[dict[str, Json]] = {
    "lab": {},
    "opted-in": {
        "labels": {contract.INJECTION: contract.ENABLED},
        "annotations": {contract.DEFAULT_MIN: "1", contract.DEFAULT_MAX: "4"},
    },
    "tight": {"annotations": {contract.LARGEST_MAX: "8", contract.GPU_BUDGET: "4"}},
    "garbled": {"annotations": {contract.LARGEST_MAX: "many"}},
}
SECONDS_A_KIB: Final = 0.001
SECONDS_AT_ALL: Final = 0.05
"""Of processor time: the law for a request is `SECONDS_AT_ALL + SECONDS_A_KIB * KiB`."""
_SAMPLE_SECONDS: Final = 0.0025
"""What `_sample()` takes on the processor for which the law is stated: an idle AMD EPYC."""
BYTES_AT_ALL: Final = 4 << 20
_ATTEMPTS: Final = 4
"""The least of them counts: another process, or a collection, costs time as well."""
_MAX_SHOWN: Final = 20


def namespaces() -> WatchedPolicies:
    """The webhook's own source, following an API server in memory."""
    cluster = FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    for name, settings in _NAMESPACES.items():
        cluster.create(ObjectRef("Namespace", "", name), {"metadata": {"name": name, **settings}})
    watched = WatchedPolicies(cluster, cluster)
    watched.start()
    while watched.problem():
        time.sleep(0.01)
    return watched


@dataclass
class Tally:
    """What was counted, and the first defects: the case's number and what is wrong."""

    counted: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    grown: list[int] = field(default_factory=list)
    """Numbers of the cases that were grown on purpose."""
    defects: list[str] = field(default_factory=list)

    def share(self, name: str) -> float:
        return self.counted[name] / self.counted["requests"]


class Trial:
    """One app, and the tally of everything that it was asked."""

    def __init__(self) -> None:
        self.tally = Tally()
        core = AdmissionCore(mutate=self._mutate, validate=self._validate)
        self._policies = namespaces()
        routes = RouteContext(CONTEXT, str, core=core, policies=self._policies)
        self._app = create_app(routes, add_review_routes)

    def stop(self) -> None:
        self._policies.stop()

    def run(self, cases: Iterable[Case], *, weighs: bool = True) -> None:
        for case in cases:
            self._run(case)
            if case.grown and weighs:
                self.weigh(case)

    def _run(self, case: Case) -> None:
        self.tally.counted["requests"] += 1
        status, content = self._timed(case)
        if case.grown:
            self.tally.grown.append(case.number)
        self.tally.statuses[status] += 1
        try:
            self._judge(case, status, content)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a defect to be shown
            self._found(case, f"{type(error).__name__}: {error}")

    def _judge(self, case: Case, status: int, content: bytes) -> None:
        if status >= 500:
            self._found(case, f"{status}: {content[:300]!r}")
        if status != 200 or case.method != "POST":
            self.tally.counted["answered as no review"] += 1
            return
        answer = msgspec.json.decode(content)["response"]
        if INTERNAL_ERROR in str(answer):
            self._found(case, str(answer)[:600])
        if case.path == "/advise" and not answer["allowed"]:
            self._found(case, f"refused where it may only warn: {answer}"[:600])
        if not answer["allowed"]:
            self.tally.counted["refused"] += 1
        elif "patch" not in answer:
            self.tally.counted["unchanged"] += 1
        else:
            self.tally.counted["patched"] += 1
            self._judge_patch(case, base64.b64decode(answer["patch"]))

    def _judge_patch(self, case: Case, operations: bytes) -> None:
        """Applied, it is what a second look leaves as it is and the last look accepts."""
        asked = decode(case.body)
        done = jsonpatch.apply_patch(asked.manifest, msgspec.json.decode(operations), in_place=True)
        policy = self._policies.known(asked.namespace) or SILENT
        operation = cast("Literal['CREATE', 'UPDATE']", asked.operation)
        request = AdmissionRequest(operation, done, asked.old, asked.user, policy)
        if again := json_patch.diff(done, handlers.mutate(request, CONTEXT).manifest):
            self._found(case, f"a second look changes {again!r}"[:600])
        handlers.validate(request, CONTEXT)

    def _timed(self, case: Case) -> tuple[int, bytes]:
        """The law of work: processor time is bounded by the size of the request."""
        stated = SECONDS_AT_ALL + SECONDS_A_KIB * len(case.body) / 1024
        for _ in range(_ATTEMPTS):
            begun = time.thread_time()
            answer = self._ask(case)
            if (spent := time.thread_time() - begun) <= stated:
                return answer
            if spent <= (most := stated * _slowdown()):
                return answer
        self._found(case, f"{len(case.body)} bytes cost {spent:.3f} s, above {most:.3f}")
        return answer

    def weigh(self, case: Case) -> None:
        """The law of memory: what the budget holds for a request is what it takes.

        Each call leaves about 11 KiB of tracemalloc's own in this process.
        """
        tracemalloc.start()
        _, content = self._ask(case)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        most = BYTES_AT_ALL + weight(case.body) + 4 * len(content)
        if peak > most:
            self._found(case, f"{len(case.body)} bytes take {peak} bytes, above {most}")

    def _ask(self, case: Case) -> tuple[int, bytes]:
        """As the server calls the app: again, where it has to wait."""
        environ = self._environ(case)
        answer = self._called(environ)
        if MAY_WAIT not in environ:
            return answer
        environ["wsgi.input"].seek(0)
        return self._called(environ)

    def _environ(self, case: Case) -> WSGIEnvironment:
        environ: WSGIEnvironment = {
            "REQUEST_METHOD": case.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": case.path,
            "QUERY_STRING": "timeout=5s",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "8443",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "CONTENT_LENGTH": str(len(case.body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "https",
            "wsgi.input": io.BytesIO(case.body),
            "wsgi.errors": sys.stderr,
        }
        if case.content_type is not None:
            environ["CONTENT_TYPE"] = case.content_type
        return environ

    def _called(self, environ: WSGIEnvironment) -> tuple[int, bytes]:
        statuses: list[int] = []
        chunks = self._app(
            environ,
            lambda status, *_: statuses.append(int(status.split(" ", 1)[0])),  # type: ignore[arg-type]
        )
        return statuses[-1], b"".join(chunks)

    def _mutate(self, request: AdmissionRequest, context: Context) -> AdmissionVerdict:
        self.tally.counted["reached mutate()"] += 1
        return handlers.mutate(request, context)

    def _validate(self, request: AdmissionRequest, context: Context) -> AdmissionVerdict:
        self.tally.counted["reached validate()"] += 1
        return handlers.validate(request, context)

    def _found(self, case: Case, what: str) -> None:
        self.tally.counted["defects"] += 1
        if len(self.tally.defects) < _MAX_SHOWN:
            self.tally.defects.append(f"case {case.number}, {case.method} {case.path}: {what}")


def _slowdown() -> float:
    """Factor by which this processor is slower at the moment, from 1 to 4.

    Processor time counts what caches and hardware threads lose to other processes.
    """
    return min(max(1.0, _sample() / _SAMPLE_SECONDS), 4.0)


def _sample() -> float:
    """Processor time of a fixed piece of work, in seconds."""
    begun = time.thread_time()
    _ = sum(len(str(number)) for number in range(20_000))  # allocates nothing to be collected
    return time.thread_time() - begun


def resident_bytes() -> int:
    """Memory of this process, without what the allocator only keeps for the next large body."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc's
        trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
