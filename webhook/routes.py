"""The Flask apps: three paths each. Every bad request is answered in one line."""

import logging
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec
from flask import Flask, Response, request
from prometheus_client import CONTENT_TYPE_LATEST
from werkzeug.exceptions import HTTPException

from edl.errors import EdlError
from edl.inject.handlers import Context
from edl.parsing.namespace_policy import SILENT, NamespacePolicy
from webhook import handler
from webhook.admission_review import BadReview, Review, decode, encode
from webhook.handler import AdmissionCore, AdmissionDecision, ReviewResult
from webhook.http.body_budget import MAX_VALUES, values
from webhook.http.connection_limits import LIMIT
from webhook.http.deferred_calls import MAY_WAIT
from webhook.namespace_policies import NamespacePolicies, NoPolicies
from webhook.rejection_log import RateLimitedLog
from webhook.webhook_metrics import WebhookMetrics

ADVISE: Final = "/advise"
"""Reviews of objects that are not managed: a namespace that is not known never delays them."""
_WITHOUT_POLICY: Final = ("Namespace", "ConfigMap")
"""Kinds whose reviews do not depend on a namespace's settings."""
_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
_log: Final = logging.getLogger(__name__)


class RouteContext(msgspec.Struct, frozen=True):
    """What the paths need. `unready` returns why the pod is not ready, or an empty text."""

    context: Context
    unready: Callable[[], str]
    metrics: WebhookMetrics = msgspec.field(default_factory=WebhookMetrics)
    core: AdmissionCore = msgspec.field(default_factory=AdmissionCore)
    policies: NamespacePolicies = msgspec.field(default_factory=NoPolicies)
    rejection_log: RateLimitedLog = msgspec.field(default_factory=RateLimitedLog)
    clock: Callable[[], float] = time.perf_counter
    """Monotonic seconds, for the metrics."""


def add_review_routes(app: Flask, routes: RouteContext) -> None:
    """Adds the API server's paths."""
    core = routes.core
    for path, decide in (
        ("/mutate", core.mutate),
        ("/validate", core.validate),
        (ADVISE, core.advise),
    ):
        app.add_url_rule(path, path, partial(_review, routes, decide), methods=["POST"])


def add_probe_routes(app: Flask, routes: RouteContext) -> None:
    """Adds the kubelet's and Prometheus' paths."""
    app.add_url_rule("/healthz", "/healthz", partial(_text, "ok"))
    app.add_url_rule("/readyz", "/readyz", partial(_readiness, routes))
    app.add_url_rule("/metrics", "/metrics", partial(_metrics, routes))


def create_app(routes: RouteContext, *parts: Callable[[Flask, RouteContext], None]) -> Flask:
    """A WSGI app with the paths of these parts."""
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = LIMIT
    for part in parts:
        part(app, routes)
    app.register_error_handler(BadReview, partial(_bad_review, routes))
    app.register_error_handler(HTTPException, partial(_bad_request, routes))
    return app


def _review(routes: RouteContext, decide: AdmissionDecision) -> Response:
    if request.mimetype != _JSON:
        mimetype = request.mimetype or "no content type"
        raise BadReview(f"{mimetype} instead of {_JSON}", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    started = routes.clock()
    review = _decoded()
    try:
        policy = _policy(routes, review)
    except EdlError as error:
        result = handler.namespace_unavailable(review, error)
    else:
        if policy is None:
            request.environ[MAY_WAIT] = True
            return _text("namespace unknown", HTTPStatus.SERVICE_UNAVAILABLE)
        result = handler.handle(review, policy, decide, routes.context)
    answer = encode(review.uid, result.answer)
    routes.metrics.reviewed(request.path, review, result.outcome, routes.clock() - started)
    _tell(review, result)
    return Response(answer, content_type=_JSON)


def _decoded() -> Review:
    """The review in the body. Its values are counted before it is decoded, to bound the memory."""
    body = request.get_data(cache=False)
    if (count := values(body)) > MAX_VALUES:
        what = f"the body has {count} values, more than {MAX_VALUES}"
        raise BadReview(what, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return decode(body)


def _policy(routes: RouteContext, review: Review) -> NamespacePolicy | None:
    """The namespace's settings; None if it must be fetched first, by a call that may wait.

    Raises what fetching raises.
    """
    if review.kind in _WITHOUT_POLICY:
        return SILENT
    policy = routes.policies.known(review.namespace)
    if request.path == ADVISE:
        return policy or SILENT
    if policy is None and MAY_WAIT in request.environ:
        return routes.policies.fetch(review.namespace)
    return policy


def _tell(review: Review, result: ReviewResult) -> None:
    """Logs refusals, and internal errors with their traceback."""
    refusal = result.answer.refusal
    # On one line, so that names that clients choose cannot inject log lines.
    asked = " ".join(f"{review.operation} of {review} by {review.user} ({review.uid})".split())
    job = review.kind == "Job"
    named = {"job": f"{review.namespace}/{review.name}"} if job else {"object": str(review)}
    fields = named | {"uid": review.uid}
    if result.failure is not None:
        _log.error("internal error: %s", asked, exc_info=result.failure, extra={"fields": fields})
    elif refusal is not None:
        reason = " ".join(refusal.message.split())
        fields["reason"] = reason
        _log.info("refused %s: %s", asked, reason, extra={"fields": fields})


def _text(line: str, status: int = HTTPStatus.OK) -> Response:
    return Response(f"{line}\n", status, content_type=_TEXT)


def _readiness(routes: RouteContext) -> Response:
    reason = routes.unready()
    return _text(reason, HTTPStatus.SERVICE_UNAVAILABLE) if reason else _text("ready")


def _metrics(routes: RouteContext) -> Response:
    return Response(routes.metrics.exposition(), content_type=CONTENT_TYPE_LATEST)


def _bad_review(routes: RouteContext, error: BadReview) -> Response:
    return _rejected(routes, str(error), error.status)


def _bad_request(routes: RouteContext, error: HTTPException) -> Response:
    """Answers what Flask itself refuses: an unknown path, a wrong method, a body too large."""
    status = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return _rejected(routes, f"the body is larger than {LIMIT} bytes", status)
    return _rejected(routes, f"{request.method} {request.path}: {error.name}", status)


def _rejected(routes: RouteContext, reason: str, status: int) -> Response:
    line = " ".join(reason.split())
    rejected(routes, request.remote_addr or "unknown", line, status)
    return _text(line, status)


def rejected(routes: RouteContext, client: str, line: str, status: int) -> None:
    """Logs and counts a request that was refused before its review."""
    routes.rejection_log.say(client, line)
    routes.metrics.rejected(status)
