"""Maps HTTP statuses and Status bodies of the API server to errors that tell what to do."""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from edl.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KindNotServed,
    NotFound,
    Unreachable,
    WebhookAway,
    WebhookRefused,
)
from edl.kube.auth.user_roles import role_with

_RBAC: Final = re.compile(r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource')
_OWN_ACCOUNT: Final = re.compile(r"system:serviceaccount:[^:]+:edl-(reconciler|webhook)")
_WEBHOOK: Final = re.compile(
    r"admission webhook (?P<name>\S+) denied the request: (?P<cause>.*)", re.DOTALL
)
_OWN_WEBHOOK: Final = '.edl.dev"'
_AWAY: Final = re.compile(r'failed calling webhook "[^"]+\.edl\.dev"')
_OBJECT: Final = re.compile(r"Invalid value: [\w.]*\{")
_OBJECT_END: Final = "}: "


class _Details(msgspec.Struct):
    name: str = ""


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


# Not at the first refusal: msgspec 0.22 reads a struct's fields at its first use, and a thread that
# uses the struct meanwhile ends the process with a segmentation fault.
_decoder: Final = msgspec.json.Decoder(_Status)


class ApiCall(msgspec.Struct, frozen=True):
    """A request in the terms of RBAC: `verb` (list, patch, …) on `resource` (jobs.batch).

    `flags` give kubectl the same cluster and user: ` --as ann`.
    """

    verb: str
    resource: str
    namespace: str
    name: str
    server: str
    flags: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (self.verb, self.resource, self.name, self.where) if part)

    @property
    def where(self) -> str:
        return f"in namespace {self.namespace}" if self.namespace else ""


def refusal(request: ApiCall, status: int, body: bytes) -> ClusterError:
    """The error for a response other than 2xx, or for the object of a watch's ERROR event."""
    answer = _status(body)
    message = answer.message or f"HTTP {status} without an explanation"
    # Whatever the code: a webhook's own one says nothing about the object of the request.
    if status < 429 and (denied := _WEBHOOK.search(message)):  # noqa: PLR2004 - HTTP
        refused = WebhookRefused if denied["name"].endswith(_OWN_WEBHOOK) else Invalid
        return refused(denied["cause"], status)
    if status in _BY_STATUS:
        return _BY_STATUS[status](answer)(message, status)
    if status == 401:  # noqa: PLR2004 - HTTP
        why = "accepts no user without credentials, which are sent to https:// only"
        if request.server.lower().startswith("https:"):
            why = "does not accept these credentials"
        advice = "log in again, or choose others with --kubeconfig or --context"
        return Forbidden(f"{request.server} {why}: {message}; {advice}", status)
    if status == 403:  # noqa: PLR2004 - HTTP
        return _forbidden(request, message)
    if status in (408, 429) or status >= 500:  # noqa: PLR2004 - HTTP
        kind = WebhookAway if _AWAY.search(message) else Unreachable
        return kind(f"{request.server} cannot {request} now: {message}", status)
    return Invalid(_without_objects(message), status)


_BY_STATUS: Final[dict[int, Callable[[_Status], type[ClusterError]]]] = {
    # No Status names an object of an unknown kind.
    404: lambda answer: NotFound if answer.details and answer.details.name else KindNotServed,
    409: lambda answer: AlreadyExists if answer.reason == "AlreadyExists" else Conflict,
    410: lambda _: Gone,
}


def _forbidden(request: ApiCall, message: str) -> ClusterError:
    if not (rule := _RBAC.search(message)):
        return Forbidden(message, 403)
    return Forbidden(
        f'"{rule["user"]}" may not {request}; {_way_out(request, rule)} '
        f"({_question(request, rule['verb'])})",
        403,
    )


def _question(request: ApiCall, verb: str) -> str:
    """The kubectl command that asks for this right: a role may have it for the one name only."""
    resource, _, part = request.resource.partition("/")
    asked = request.resource
    if resource:
        asked = f"{resource}/{request.name}" if request.name else resource
        asked += f" --subresource={part}" if part else ""
    scope = f"-n {request.namespace}" if request.namespace else "--all-namespaces"
    return f"kubectl auth can-i {verb} {asked} {scope}{request.flags}"


def _way_out(request: ApiCall, rule: re.Match[str]) -> str:
    """The role to ask for. Our own ServiceAccounts have other roles than users."""
    role = role_with(rule["verb"], request.resource, request.name)
    if not role or _OWN_ACCOUNT.fullmatch(rule["user"]):
        return "ask for a role with this verb"
    return f"ask for the ClusterRole {role} {request.where or 'in the whole cluster'}"


def status_of(body: bytes) -> int:
    """The code in a Status object; 500 if there is none."""
    return _status(body).code or 500


def _without_objects(message: str) -> str:
    """The message without whole objects in Go or JSON syntax.

    A Job's template has 5,000 characters. Users choose parts of the message, so the scan is linear.
    """
    parts, start = [], 0
    while begun := _OBJECT.search(message, start):
        end = message.find(_OBJECT_END, begun.end())
        if end < 0:
            break
        parts.append(message[start : begun.start()])
        start = end + len(_OBJECT_END)
    return "".join((*parts, message[start:]))


def _status(body: bytes) -> _Status:
    """The Status object in a body; one with the beginning of any other body as its message."""
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError:
        return _Status(message=body[:200].decode(errors="replace").strip())
