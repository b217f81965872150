"""The Flask app: the pages, their event stream and their requests.

| path | | |
|---|---|---|
| `/` | GET | the page; `?token=…` is taken into a cookie, once |
| `/jobs/NAMESPACE/NAME` | GET | the page of one training job |
| `/jobs/NAMESPACE/NAME/state` | GET | the same as JSON (`job_page`) |
| `/events` | GET | server-sent events: `state`, the page as JSON (`page_state.page`), and `beat` |
| `/what-if` | POST | {"namespace", "name", "max"} → the outcome with and without this max |
| `/scale` | POST | {"namespace", "name", "size": 6 or null} → {"message"}; only if it is allowed |

Errors are {"error": one line}; those of pages are pages.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from io import StringIO
from threading import BoundedSemaphore
from typing import Final

import msgspec
from flask import Flask, Response, redirect, render_template, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from edl.errors import EdlError, Forbidden, NotFound, Unreachable
from edl.model import JobKey
from edl.writes import Json
from kubectl_edl.cli.command_errors import Missing, Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.cli.options import WriteOptions
from kubectl_edl.dashboard import what_if_job
from kubectl_edl.dashboard.job_page import MAX_PODS_WITH_EVENTS, JobPages
from kubectl_edl.dashboard.page_broadcast import PageBroadcast, stream
from kubectl_edl.dashboard.request_auth import PAGE_HEADER, RequestAuth, token_in_query
from kubectl_edl.output.safe_text import harmless
from kubectl_edl.scale.resize import ResizeTask, carry_out
from kubectl_edl.scale.resize_target import SizeRequest

MAX_STREAMS: Final = 64
_LIMIT: Final = 4096
"""The largest request body in bytes: enough for names and a number."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATUS: Final[tuple[tuple[type[EdlError], HTTPStatus], ...]] = (
    (Missing, HTTPStatus.NOT_FOUND),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (Unreachable, HTTPStatus.BAD_GATEWAY),
)
_PAGES: Final = frozenset({"page", "job"})


@dataclass(frozen=True, slots=True)
class ResizeRequest:
    """A manual size; None returns the role to automatic scaling."""

    namespace: str
    name: str
    size: int | None


_what_ifs: Final = msgspec.json.Decoder(what_if_job.WhatIfRequest)
_resizes: Final = msgspec.json.Decoder(ResizeRequest)


@dataclass(frozen=True, slots=True)
class DashboardContext:
    """The dependencies of the routes. `resize` is None in a read-only dashboard."""

    auth: RequestAuth
    broadcast: PageBroadcast
    what_if: Callable[[what_if_job.WhatIfRequest], Json]
    jobs: JobPages
    about: Json
    """`server`, `namespace` (empty for all) and `version`, for the page header."""
    resize: Callable[[ResizeRequest], str] | None = None


def create_app(context: DashboardContext) -> Flask:
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = _LIMIT
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 0
    app.before_request(partial(_check, context))
    app.after_request(_harden)
    app.add_url_rule("/", "page", partial(_page, context))
    app.add_url_rule("/jobs/<namespace>/<name>", "job", partial(_job, context))
    app.add_url_rule("/jobs/<namespace>/<name>/state", "job-state", partial(_job_state, context))
    app.add_url_rule("/events", "events", partial(_events, context, BoundedSemaphore(MAX_STREAMS)))
    app.add_url_rule("/what-if", "what-if", partial(_what_if, context), methods=["POST"])
    app.add_url_rule("/scale", "scale", partial(_scale, context), methods=["POST"])
    app.register_error_handler(EdlError, _failed)
    app.register_error_handler(msgspec.DecodeError, _misshapen)
    app.register_error_handler(HTTPException, _unknown)
    return app


def _check(context: DashboardContext) -> AnyResponse | None:
    refusal = context.auth.refusal(request, opens_page=request.endpoint in {*_PAGES, "static"})
    return _error(refusal.text, refusal.status) if refusal else None


def _harden(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _page(context: DashboardContext) -> AnyResponse:
    if context.auth.knows(token := token_in_query(request)):
        # Remove the token from the address, which browser histories and bystanders can read.
        answer = redirect("/", HTTPStatus.SEE_OTHER)
        answer.set_cookie(context.auth.cookie, token, httponly=True, samesite="Strict")
        return answer
    return _html(
        "page.html",
        about=context.about,
        header=PAGE_HEADER,
        secret=context.auth.page,
        scales=context.resize is not None,
    )


def _job(context: DashboardContext, namespace: str, name: str) -> Response:
    context.jobs.check(JobKey(namespace, name))
    title = harmless(f"{namespace}/{name}")
    return _html("job.html", about=context.about, title=title, most=MAX_PODS_WITH_EVENTS)


def _job_state(context: DashboardContext, namespace: str, name: str) -> Response:
    return _json(context.jobs.read(JobKey(namespace, name)))


def _html(template: str, status: int = HTTPStatus.OK, **values: object) -> Response:
    text = render_template(template, **values)
    return Response(text, status, content_type="text/html; charset=utf-8")


def _events(context: DashboardContext, streams: BoundedSemaphore) -> Response:
    if not streams.acquire(blocking=False):
        text = f"{MAX_STREAMS} dashboard pages are open already: close some"
        return _error(text, HTTPStatus.SERVICE_UNAVAILABLE)
    answer = Response(stream(context.broadcast), content_type="text/event-stream")
    answer.call_on_close(streams.release)
    return answer


def _what_if(context: DashboardContext) -> Response:
    return _json(context.what_if(_what_ifs.decode(request.get_data())))


def _scale(context: DashboardContext) -> Response:
    if context.resize is None:
        text = "this dashboard only reads; start it with --allow-scale to change sizes here"
        return _error(text, HTTPStatus.FORBIDDEN)
    return _json({"message": context.resize(_resizes.decode(request.get_data()))})


def _json(body: object, status: int = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(body), status, content_type="application/json")


def _failed(error: EdlError) -> Response:
    statuses = (status for kind, status in _STATUS if isinstance(error, kind))
    return _error(str(error), next(statuses, HTTPStatus.UNPROCESSABLE_ENTITY))


def _error(text: str, status: HTTPStatus) -> Response:
    if request.accept_mimetypes.accept_html and request.endpoint in _PAGES:
        return _html("refused.html", status, text=text, missing=status is HTTPStatus.NOT_FOUND)
    return _json({"error": text}, status)


def _misshapen(error: msgspec.DecodeError) -> Response:
    return _json({"error": f"invalid request body: {error}"}, HTTPStatus.BAD_REQUEST)


def _unknown(error: HTTPException) -> Response:
    """Flask's own errors: an unknown path, a wrong method, a body that is too large."""
    status = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    return _json({"error": f"{request.method} {request.path}: {error.name}"}, status)


def resize(cli: CliContext, connection: ClusterConnection, request: ResizeRequest) -> str:
    """Resize a role, and return the confirmation. Raises the errors of `kubectl edl scale`."""
    if connection.namespace not in ("", request.namespace):
        raise Refused(f"{request.namespace} is not shown here; only {connection.namespace} is")
    scope = connection.scope.within(request.namespace)
    there = replace(connection, namespace=request.namespace, scope=scope)
    asked = SizeRequest(size=request.size, auto=request.size is None, scope=scope)
    out = StringIO()
    silent = replace(cli, out=out, err=StringIO())
    carry_out(ResizeTask(silent, there, request.name, asked, WriteOptions("none")))
    return out.getvalue().strip()
