"""The errors of kubectl-edl. Each message says what was found and what to do.

EdlError
├── Denied             a manifest breaks the contract; carries every Finding
└── ClusterError       the API server refused, or did not answer
    ├── NotFound       404
    │   └── KindNotServed  404 for every object of this kind
    ├── Conflict       409, or a precondition that no longer holds: decide again from fresh state
    │   └── AlreadyExists  409 for a new object whose name is taken
    ├── Gone           410: the watch is too old, list again
    ├── Forbidden      401, 403
    ├── Invalid        400, 422
    │   └── WebhookRefused our webhook refuses the object
    └── Unreachable    no answer, 408, 429, 5xx: try again later
        └── WebhookAway    the API server got no answer from our webhook
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

MAX_FINDINGS: Final = 100
"""Findings per manifest or document: each new one is compared with all before it."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One problem in a manifest: the path of the field, what was found, and what is allowed."""

    path: str
    what: str
    allowed: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"

    @property
    def problem(self) -> str:
        """The text without the path."""
        return f"{self.what}; {self.allowed}" if self.allowed else self.what


class Findings(list[Finding]):
    """Findings, each of them once; it stops growing at `MAX_FINDINGS`."""

    def found(self, path: str, what: str, allowed: str = "") -> None:
        finding = Finding(path, what, allowed)
        if not self.full and finding not in self:
            self.append(finding)

    @property
    def full(self) -> bool:
        """Whether further findings would be dropped, so that checks may stop."""
        return len(self) >= MAX_FINDINGS


class EdlError(Exception):
    """The base of all errors that kubectl-edl raises on purpose; the text is one line for users."""


class Denied(EdlError):
    """A manifest breaks the contract."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(" | ".join(str(finding) for finding in self.findings))


def refuse(findings: Iterable[Finding]) -> None:
    """Raises Denied with these findings, if there are any."""
    if listed := tuple(findings):
        raise Denied(listed)


def findings_of(check: Callable[..., object], *given: object) -> tuple[Finding, ...]:
    """The findings with which `check` raises Denied for these arguments; empty if it passes."""
    try:
        check(*given)
    except Denied as denied:
        return denied.findings
    return ()


class ClusterError(EdlError):
    """The API server refused or did not answer. `status` is the HTTP code, 0 without an answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        self.status = status
        super().__init__(message)


class NotFound(ClusterError):
    """The object, or one that it needs, does not exist."""


class KindNotServed(NotFound):
    """The API server does not serve the object's kind."""


class Conflict(ClusterError):
    """The object, or a quota that counts it, has changed since it was read."""


class AlreadyExists(Conflict):
    """An object of this name exists already."""


class Gone(ClusterError):
    """The resource version is too old to watch from."""


class Forbidden(ClusterError):
    """The user may not do this; the message names the verb and the resource."""


class Invalid(ClusterError):
    """The API server refuses the content of the object."""


class WebhookRefused(Invalid):
    """Our webhook refuses the content of the object; policies and other webhooks raise Invalid."""


def is_refusal(error: EdlError) -> bool:
    """Whether the API server refuses a write as it is: by admission, a quota or a missing right.

    After all other errors, and one about our credentials, the same write may succeed later.
    """
    return isinstance(error, Invalid | Forbidden) and error.status != HTTPStatus.UNAUTHORIZED


class Unreachable(ClusterError):
    """The API server did not answer, or asks to try again later."""


class WebhookAway(Unreachable):
    """The API server refused a write because our webhook did not answer."""
