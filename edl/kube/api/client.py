"""`ApiClient`: the `Cluster` of a real API server. It decodes only what is used.

Reads are retried if that is safe, writes never: the caller decides again from fresh state.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable  # noqa: TC003 - msgspec reads it
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.errors import Unreachable
from edl.kube.api.api_errors import ApiCall, refusal
from edl.kube.api.api_paths import list_query, log_query, resource_path
from edl.kube.api.discovery import serves
from edl.kube.api.line_stream import events, text
from edl.kube.api.list_pages import bounded_pages, decode_page
from edl.kube.api.transport import UNBOUNDED, Transport
from edl.kube.auth.credentials import log_in
from edl.kube.cluster import RESOURCES, RawList

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import timedelta

    from urllib3 import BaseHTTPResponse

    from edl.errors import ClusterError
    from edl.kube.api.line_stream import LineStream
    from edl.kube.api.transport import ApiResponse
    from edl.kube.auth.credentials import ClientConfig
    from edl.kube.auth.kubeconfig import ConfigOverrides
    from edl.kube.cluster import ListOptions, LogRequest, RawEvent
    from edl.model import ObjectRef
    from edl.writes import Json

T = TypeVar("T")
WATCH_SECONDS: Final = 300
_WATCH_SILENCE: Final = WATCH_SECONDS * 2 + 30.0
_LOG_SILENCE: Final = 600.0
"""Seconds of silence after which a followed log is requested again."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """How long a request may take: `seconds` in total, with retries and pauses.

    `pauses` precede the retries of a read that the API server could not answer; a Retry-After
    header makes them longer.
    """

    seconds: float = 30.0
    pauses: tuple[float, ...] = (0.1, 0.4, 1.6)
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic


_WAITS: Final = RetryPolicy()


class _Version(msgspec.Struct):
    gitVersion: str  # noqa: N815 - the API's name


_version_decoder: Final = msgspec.json.Decoder(_Version)
_object_decoder: Final = msgspec.json.Decoder(dict[str, Any])


class ApiClient:
    """A client of one API server. Thread-safe; connections are kept and shared."""

    def __init__(
        self,
        login: ClientConfig,
        waits: RetryPolicy = _WAITS,
        transport: Transport | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        """`transport`: that of another client, to share its connections and clock estimate.

        `on_warning` is called with each warning in the answer to a write.
        """
        self.server = login.server
        self.default_namespace = login.namespace
        """The namespace of the kubeconfig's context, or the pod's own."""
        self.system_namespace = login.system_namespace
        self._login = login
        self._waits = waits
        self._transport = transport or Transport(login)
        self._on_warning = on_warning

    def within(self, seconds: float) -> ApiClient:
        """A client with the same connections whose requests fail after this many seconds."""
        waits = replace(self._waits, seconds=seconds)
        return ApiClient(self._login, waits, self._transport, self._on_warning)

    def once(self, seconds: float) -> ApiClient:
        """As `within`, but without retries of reads: the caller decides when to repeat them."""
        waits = replace(self._waits, seconds=seconds, pauses=())
        return ApiClient(self._login, waits, self._transport, self._on_warning)

    def without_warnings(self) -> ApiClient:
        """A client with the same connections that drops the warnings of answers."""
        return ApiClient(self._login, self._waits, self._transport)

    def get(self, target: ObjectRef) -> Json:
        return self._object(self._read(self._call("get", *target), resource_path(*target)))

    def list(self, selection: ListOptions) -> RawList:
        pages = tuple(self.pages(selection))
        return RawList(tuple(item for page in pages for item in page.items), pages[0].version)

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        request = self._call("list", selection.kind, selection.namespace, selection.name)
        collection = resource_path(selection.kind, selection.namespace)

        def read(query: dict[str, str], longest: int) -> tuple[RawList, str]:
            path = f"{collection}?{urlencode(list_query(selection) | query)}"
            body = self._read(request, path, longest)
            return self._decoded(lambda: decode_page(body))

        return bounded_pages(read)

    def watch(self, selection: ListOptions, version: str) -> LineStream[RawEvent]:
        request = self._call("watch", selection.kind, selection.namespace, selection.name)
        query = list_query(selection) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            # Random, so that the watches of many clients do not end together.
            "timeoutSeconds": str(WATCH_SECONDS + random.randrange(WATCH_SECONDS)),  # noqa: S311
        }
        url = f"{resource_path(selection.kind, selection.namespace)}?{urlencode(query)}"
        return events(self._streamed(request, url, _WATCH_SILENCE), request)

    def log(self, wanted: LogRequest) -> LineStream[str]:
        pod = wanted.pod
        request = self._request("get", "pods/log", pod.namespace, pod.name)
        url = f"{resource_path(*pod, 'log')}?{urlencode(log_query(wanted))}"
        return text(self._streamed(request, url, _LOG_SILENCE), request)

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        path = resource_path(target.kind, target.namespace) + _options(dry_run=dry_run)
        request = self._call("create", *target)
        return self._object(self._write("POST", request, path, manifest))

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        path = resource_path(*target) + _options(dry_run=dry_run)
        return self._object(self._write("PATCH", self._call("patch", *target), path, body))

    def add_condition(self, target: ObjectRef, condition: Mapping[str, str], version: str) -> Json:
        body = {"metadata": {"resourceVersion": version}, "status": {"conditions": [condition]}}
        path = resource_path(*target, "status") + _options(dry_run=False)
        return self._object(self._write("MERGE_BY_KEY", self._call("patch", *target), path, body))

    def apply(
        self,
        target: ObjectRef,
        manifest: Mapping[str, Any],
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> Json:
        path = resource_path(*target) + _options(dry_run=dry_run) + ("&force=true" if force else "")
        return self._object(self._write("APPLY", self._call("patch", *target), path, manifest))

    def delete(
        self, target: ObjectRef, *, version: str = "", uid: str = "", dry_run: bool = False
    ) -> None:
        options: Json = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
        }
        seen = {"resourceVersion": version, "uid": uid}
        if given := {name: value for name, value in seen.items() if value}:
            options["preconditions"] = given
        if dry_run:
            options["dryRun"] = ["All"]
        self._write("DELETE", self._call("delete", *target), resource_path(*target), options)

    def version(self) -> str:
        request = self._request("get", "/version", "")
        body = self._read(request, "/version")
        return self._decoded(lambda: _version_decoder.decode(body)).gitVersion

    def serves(self, kind: str) -> bool:
        def read(path: str) -> bytes:
            return self._read(self._request("get", path, ""), path)

        return self._decoded(lambda: serves(RESOURCES[kind], read))

    def clock_ahead(self) -> timedelta:
        return self._transport.server_clock.ahead()

    def close(self) -> None:
        """Closes the kept connections."""
        self._transport.close()

    def _call(self, verb: str, kind: str, namespace: str, name: str = "") -> ApiCall:
        resource = RESOURCES[kind]
        group = f".{resource.group}" if resource.group else ""
        return self._request(verb, resource.plural + group, namespace, name)

    def _request(self, verb: str, resource: str, namespace: str, name: str = "") -> ApiCall:
        return ApiCall(verb, resource, namespace, name, self.server, self._login.flags)

    def _streamed(self, request: ApiCall, url: str, silence: float) -> BaseHTTPResponse:
        response = self._transport.stream(url, silence)
        if response.status != 200:  # noqa: PLR2004 - HTTP
            raise refusal(request, response.status, response.data)
        return response

    def _read(self, request: ApiCall, path: str, longest: int = UNBOUNDED) -> bytes:
        """Reads with retries. If there is no answer at all, Unreachable is raised at once."""
        waits = self._waits
        ends, pauses = waits.monotonic() + waits.seconds, iter(waits.pauses)
        while True:
            answer = self._transport.send("GET", path, ends - waits.monotonic(), longest=longest)
            if (error := _refusal(request, answer)) is None:
                return answer.data
            jitter = random.uniform(1, 1.5)  # noqa: S311 - no secret
            pause = max(next(pauses, math.inf) * jitter, answer.retry_after)
            if not isinstance(error, Unreachable) or waits.monotonic() + pause >= ends:
                raise error
            waits.sleep(pause)

    def _object(self, body: bytes) -> Json:
        return self._decoded(lambda: _object_decoder.decode(body))

    def _decoded(self, decode: Callable[[], T]) -> T:
        """What `decode` returns. Raises Unreachable for an answer that no API server gives."""
        try:
            return decode()
        except msgspec.DecodeError as error:
            message = f"{self.server} answers as no API server does ({error}); check its address"
            raise Unreachable(message) from error

    def _write(self, method: str, request: ApiCall, path: str, body: Mapping[str, Any]) -> bytes:
        encoded = msgspec.json.encode(body)
        answer = self._transport.send(method, path, self._waits.seconds, encoded)
        if self._on_warning:
            for warning in answer.warnings:
                self._on_warning(warning)
        if (error := _refusal(request, answer)) is not None:
            raise error
        return answer.data


def connect(
    kubeconfig: str | None = None,
    overrides: ConfigOverrides | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> ApiClient:
    """A client of the cluster that kubectl would choose; in a pod without kubeconfig, its own.

    Raises Unreachable if no cluster can be chosen. No request is sent yet.
    """
    return ApiClient(log_in(kubeconfig, overrides, os.environ), on_warning=on_warning)


def _refusal(request: ApiCall, answer: ApiResponse) -> ClusterError | None:
    if 200 <= answer.status < 300:  # noqa: PLR2004 - HTTP
        return None
    return refusal(request, answer.status, answer.data)


def _options(*, dry_run: bool) -> str:
    return f"?fieldManager={contract.MANAGED_BY}" + ("&dryRun=All" if dry_run else "")
