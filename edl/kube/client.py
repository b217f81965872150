"""`ApiServer`: the `Cluster` of a real API server; only what is used is ever decoded.

Reads are repeated when that is safe, writes never: who writes decides again from fresh state.
"""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlencode

import msgspec

from edl import contract
from edl.errors import Gone, Unreachable
from edl.kube.cluster import RESOURCES, RawListing
from edl.kube.login import log_in
from edl.kube.paths import resource_path
from edl.kube.refusals import Request, refusal
from edl.kube.stream import events, text
from edl.kube.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from edl.kube.cluster import LogRequest, RawEvent, Resource, Selection
    from edl.kube.login import Login
    from edl.kube.stream import LineStream
    from edl.model import Target
    from edl.writes import Json

PAGE_SIZE: Final = 1000
"""Measured with 1,000 Jobs: in two pages they cost the API server a fifth more, etcd four times."""
ANSWER_SECONDS: Final = 30.0
WATCH_SECONDS: Final = 300
_WATCH_SILENCE: Final = WATCH_SECONDS * 2 + 30.0
_LOG_SILENCE: Final = 600.0
"""Who trains may have nothing to say for long; whoever follows asks again after that."""
_PAUSES: Final = (0.1, 0.4, 1.6)


class _ListMeta(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 - the API's name
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_page_decoder: Final = msgspec.json.Decoder(_Page)


class ApiServer:
    """One API server. Thread-safe; connections are kept and shared."""

    def __init__(
        self,
        login: Login,
        sleep: Callable[[float], None] = time.sleep,
        seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.server = login.server
        self.default_namespace = login.namespace
        """The kubeconfig context's namespace, or the pod's own."""
        self._login = login
        self._sleep = sleep
        self._transport = Transport(login, seconds)

    def within(self, seconds: float) -> ApiServer:
        """The same server and connections, but an answer must begin sooner, or later."""
        return ApiServer(self._login, self._sleep, seconds)

    def get(self, target: Target) -> Json:
        return _object(self._read(_asked("get", target, self.server), _path(target)))

    def list(self, selection: Selection) -> RawListing:
        try:
            pages = tuple(self.pages(selection))
        except Gone:  # the pages took longer than the server keeps a version
            return self._page(selection, {})[0]
        return RawListing(tuple(item for page in pages for item in page.items), pages[0].version)

    def pages(self, selection: Selection) -> Iterator[RawListing]:
        query = {"limit": str(PAGE_SIZE)}
        while True:
            page, query["continue"] = self._page(selection, query)
            yield page
            if not query["continue"]:
                return

    def watch(self, selection: Selection, version: str) -> LineStream[RawEvent]:
        request = _asked_all("watch", selection, self.server)
        query = _query(selection) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            # Spread, so that the watches of many clients do not end together.
            "timeoutSeconds": str(WATCH_SECONDS + random.randrange(WATCH_SECONDS)),  # noqa: S311
        }
        url = f"{resource_path(selection.kind, selection.namespace)}?{urlencode(query)}"
        response = self._transport.stream(url, _WATCH_SILENCE)
        if response.status != 200:  # noqa: PLR2004 - HTTP
            raise refusal(request, response.status, response.data)
        return events(response, request)

    def log(self, wanted: LogRequest) -> LineStream[str]:
        pod = wanted.pod
        request = Request("get", "pods/log", pod.namespace, pod.name, self.server)
        url = f"{_path(pod, 'log')}?{urlencode(_log_query(wanted))}"
        response = self._transport.stream(url, _LOG_SILENCE)
        if response.status != 200:  # noqa: PLR2004 - HTTP
            raise refusal(request, response.status, response.data)
        return text(response, request)

    def create(self, target: Target, manifest: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        path = resource_path(target.kind, target.namespace) + _options(dry_run=dry_run)
        request = _asked("create", target, self.server)
        return _object(self._write("POST", request, path, manifest))

    def patch(self, target: Target, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        path = _path(target) + _options(dry_run=dry_run)
        return _object(self._write("PATCH", _asked("patch", target, self.server), path, body))

    def apply(
        self,
        target: Target,
        manifest: Mapping[str, Any],
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> Json:
        path = _path(target) + _options(dry_run=dry_run) + ("&force=true" if force else "")
        return _object(self._write("APPLY", _asked("patch", target, self.server), path, manifest))

    def delete(self, target: Target, *, version: str = "") -> None:
        options: Json = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
        }
        if version:
            options["preconditions"] = {"resourceVersion": version}
        self._write("DELETE", _asked("delete", target, self.server), _path(target), options)

    def version(self) -> str:
        request = Request("get", "/version", "", "", self.server)
        return str(_object(self._read(request, "/version"))["gitVersion"])

    def close(self) -> None:
        """Drop the kept connections."""
        self._transport.close()

    def _page(self, selection: Selection, query: dict[str, str]) -> tuple[RawListing, str]:
        """One page, and where the next one continues."""
        request = _asked_all("list", selection, self.server)
        collection = resource_path(selection.kind, selection.namespace)
        body = self._read(request, f"{collection}?{urlencode(_query(selection) | query)}")
        page = _page_decoder.decode(body)
        items = tuple(bytes(item) for item in page.items or ())
        return RawListing(items, page.metadata.resourceVersion), page.metadata.continue_

    def _read(self, request: Request, path: str) -> bytes:
        for pause in _PAUSES:
            try:
                return self._answer("GET", request, path)
            except Unreachable as error:
                if not error.status:  # nobody is there: the caller knows how long to wait
                    raise
                self._sleep(pause * random.uniform(1, 1.5))  # noqa: S311 - jitter
        return self._answer("GET", request, path)

    def _write(self, method: str, request: Request, path: str, body: Mapping[str, Any]) -> bytes:
        return self._answer(method, request, path, msgspec.json.encode(body))

    def _answer(self, method: str, request: Request, path: str, body: bytes | None = None) -> bytes:
        response = self._transport.send(method, path, body)
        if 200 <= response.status < 300:  # noqa: PLR2004 - HTTP
            return response.data
        raise refusal(request, response.status, response.data)


def connect(kubeconfig: str | None = None, context: str | None = None) -> ApiServer:
    """The cluster that kubectl would choose; in a pod without kubeconfig, the pod's own.

    Raises Unreachable when none can be chosen; the server itself is asked nothing yet.
    """
    return ApiServer(log_in(kubeconfig, context, os.environ))


def _path(target: Target, *subresource: str) -> str:
    return resource_path(target.kind, target.namespace, target.name, *subresource)


def _query(selection: Selection) -> dict[str, str]:
    return {"labelSelector": selection.labels} if selection.labels else {}


def _log_query(wanted: LogRequest) -> dict[str, str]:
    query = {
        "container": wanted.container,
        "timestamps": "true",
        "follow": "true" if wanted.follow else "",
        "previous": "true" if wanted.previous else "",
        "tailLines": "" if wanted.tail is None else str(wanted.tail),
        "sinceSeconds": "" if wanted.since is None else str(wanted.since),
        "sinceTime": wanted.after,
    }
    return {name: value for name, value in query.items() if value}


def _options(*, dry_run: bool) -> str:
    return f"?fieldManager={contract.MANAGED_BY}" + ("&dryRun=All" if dry_run else "")


def _asked(verb: str, target: Target, server: str) -> Request:
    name = _rbac_name(RESOURCES[target.kind])
    return Request(verb, name, target.namespace, target.name, server)


def _asked_all(verb: str, selection: Selection, server: str) -> Request:
    return Request(verb, _rbac_name(RESOURCES[selection.kind]), selection.namespace, "", server)


def _rbac_name(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _object(body: bytes) -> Json:
    return cast("Json", msgspec.json.decode(body))
