"""What becomes of a generated review: through the app as it is served, and judged by laws."""

import base64
import ctypes
import io
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal, cast

import jsonpatch
import msgspec

from edl import patch
from edl.errors import Finding
from edl.inject import admission
from edl.inject.admission import Context, Request, Verdict
from edl.namespaces import SILENT, NamespacePolicy
from tests.edl.manifests import CONTEXT
from tests.fuzz.generated import Case
from webhook.app import Desk, create_app
from webhook.judge import Core
from webhook.review import decode

POLICIES: Final = {
    "lab": SILENT,
    "opted-in": NamespacePolicy("opted-in", adopts=True, default_min=1, default_max=4),
    "tight": NamespacePolicy("tight", largest_max=8, gpu_budget=Decimal(4)),
    "garbled": NamespacePolicy("garbled", findings=(Finding("a", "unreadable"),)),
}
_OURS: Final = "kubectl-edl failed inside"
_MOST_SHOWN: Final = 20


class Said:
    """Policies as they were said, of no cluster."""

    def known(self, namespace: str) -> NamespacePolicy | None:
        return POLICIES.get(namespace, SILENT)

    def fetch(self, namespace: str) -> NamespacePolicy:
        return POLICIES.get(namespace, SILENT)

    def problem(self) -> str:
        return ""


@dataclass
class Tally:
    """What was counted, and the first defects: the case's number and what is wrong."""

    counted: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)

    def share(self, name: str) -> float:
        return self.counted[name] / self.counted["requests"]


class Trial:
    """One app, and the tally of everything that it was asked."""

    def __init__(self) -> None:
        self.tally = Tally()
        core = Core(mutate=self._mutate, validate=self._validate)
        desk = Desk(CONTEXT, str, core=core, policies=Said())
        self._app = create_app(desk)

    def run(self, cases: Iterable[Case]) -> None:
        for case in cases:
            self._run(case)

    def _run(self, case: Case) -> None:
        self.tally.counted["requests"] += 1
        status, content = self._ask(case)
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
        if _OURS in str(answer):
            self._found(case, str(answer)[:600])
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
        policy = POLICIES.get(asked.namespace, SILENT)
        operation = cast("Literal['CREATE', 'UPDATE']", asked.operation)
        request = Request(operation, done, asked.old, asked.user, policy)
        if again := patch.diff(done, admission.mutate(request, CONTEXT).manifest):
            self._found(case, f"a second look changes {again!r}"[:600])
        admission.validate(request, CONTEXT)

    def _ask(self, case: Case) -> tuple[int, bytes]:
        """As the server calls the app, with what it tells it."""
        environ = {
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
        statuses: list[int] = []
        chunks = self._app(
            environ,
            lambda status, *_: statuses.append(int(status.split(" ", 1)[0])),  # type: ignore[arg-type]
        )
        return statuses[-1], b"".join(chunks)

    def _mutate(self, request: Request, context: Context) -> Verdict:
        self.tally.counted["reached mutate()"] += 1
        return admission.mutate(request, context)

    def _validate(self, request: Request, context: Context) -> None:
        self.tally.counted["reached validate()"] += 1
        admission.validate(request, context)

    def _found(self, case: Case, what: str) -> None:
        self.tally.counted["defects"] += 1
        if len(self.tally.defects) < _MOST_SHOWN:
            self.tally.defects.append(f"case {case.number}, {case.method} {case.path}: {what}")


def resident_bytes() -> int:
    """Memory of this process, without what the allocator only keeps for the next large body."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc's
        trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
