"""The command and its server on a real socket."""

from __future__ import annotations

import errno
import http.client
import io
import re
import socket
import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.dashboard.http_server import DashboardAddress, listen_error, listening
from kubectl_edl.dashboard.options import DashboardOptions
from kubectl_edl.dashboard.run_dashboard import can_show, started
from kubectl_edl.main import run
from tests.kubectl_edl.dashboard.served_page import connected, trained

if TYPE_CHECKING:
    from kubectl_edl.dashboard.run_dashboard import Dashboard


ANYWHERE = "0.0.0.0"  # noqa: S104 - a test of just that


def serving(**asked: object) -> Dashboard:
    stage = trained()
    return started(stage.cli(), connected(stage), replace(DashboardOptions(port=0), **asked))  # type: ignore[arg-type]


def interrupted(_seconds: float) -> None:
    raise KeyboardInterrupt


def text(stream: object) -> str:
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def get(found: Dashboard, path: str) -> http.client.HTTPResponse:
    """An answer that was read whole."""
    with closing(client(found)) as asking:
        asking.request("GET", path)
        answer = asking.getresponse()
        answer.read()
        return answer


def client(found: Dashboard) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(found.address.host, found.address.port, timeout=10)


def test_on_loopback_no_token_is_needed() -> None:
    found = serving()
    assert found.url == f"http://127.0.0.1:{found.address.port}/"
    answer = get(found, "/")
    assert answer.status == 200
    assert answer.headers["Server"] == "kubectl-edl"
    found.stop()
    with pytest.raises(ConnectionError):
        get(found, "/")


@pytest.mark.parametrize("asked", [{"allow_scale": True}, {"address": ANYWHERE}])
def test_clients_that_could_use_our_rights_need_a_token(asked: dict[str, object]) -> None:
    found = serving(**asked)
    assert "/?token=" in found.url
    assert get(found, "/events").status == 401
    found.stop()


def test_dashboards_on_two_ports_of_a_host_have_cookies_of_their_own() -> None:
    found = serving(allow_scale=True)
    _, _, asked = found.url.partition("/?")
    cookie = get(found, f"/?{asked}").headers["Set-Cookie"]
    assert cookie.startswith(f"edl-dashboard-{found.address.port}=")
    found.stop()


def test_a_stream_ends_with_the_dashboard() -> None:
    found = serving()
    with closing(client(found)) as asking:
        asking.request("GET", "/events")
        answer = asking.getresponse()
        assert answer.readline() == b"retry: 2000\n"
        ended = threading.Thread(target=answer.read)
        ended.start()
        found.stop()
        ended.join(timeout=10)
        assert not ended.is_alive()


def test_a_used_port_is_refused_with_another_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            Refused, match=f"port {port} .* is taken.*--port {port + 1}, .*--port 0"
        ):
            listening("127.0.0.1", port)


def test_other_listen_errors_have_a_remedy() -> None:
    denied = listen_error("127.0.0.1", 80, PermissionError(errno.EACCES, "Permission denied"))
    assert denied == "you may not listen on port 80; one above 1023 may do: --port 8180"
    full = listen_error("127.0.0.1", 80, OSError(errno.EMFILE, "Too many open files"))
    assert full == "cannot listen on 127.0.0.1:80: Too many open files"


@pytest.mark.parametrize("address", ["203.0.113.7", "nowhere.invalid"])
def test_an_address_of_another_machine_is_refused(address: str) -> None:
    with pytest.raises(Refused, match=f"--address {address} is not an address of this machine"):
        listening(address, 0)


@pytest.mark.parametrize(
    ("host", "loopback", "url"),
    [
        ("127.0.0.1", True, "http://127.0.0.1:80/"),
        ("::1", True, "http://[::1]:80/"),
        (ANYWHERE, False, "http://127.0.0.1:80/"),
        ("::", False, "http://[::1]:80/"),
        ("10.0.0.1", False, "http://10.0.0.1:80/"),
    ],
)
def test_an_address_has_its_url(host: str, url: str, *, loopback: bool) -> None:
    address = DashboardAddress(host, 80)
    assert (address.loopback, address.url) == (loopback, url)


def test_a_browser_is_opened_only_with_a_display() -> None:
    assert can_show({"DISPLAY": ":0"}, "linux")
    assert can_show({"WAYLAND_DISPLAY": "wayland-0"}, "linux")
    assert can_show({}, "darwin")
    assert not can_show({}, "linux")


def test_the_command_refuses_a_taken_port_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = trained().run("dashboard", "--no-open", "--port", str(taken.getsockname()[1]))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: port ")
    assert len(done.err.splitlines()) == 1


def test_ctrl_c_ends_the_dashboard() -> None:
    stage = trained()
    cli = replace(stage.cli(), sleep=interrupted)
    assert run(["dashboard", "--no-open", "--port", "0"], cli, {}) == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/   \(Ctrl-C ends it\)\n", text(cli.out))
    assert text(cli.err) == "ended\n"


def test_outside_of_loopback_a_hint_warns_of_clear_text() -> None:
    stage = trained()
    cli = replace(stage.cli(), sleep=interrupted)
    assert run(["dashboard", "--no-open", "--port", "0", "--address", ANYWHERE], cli, {}) == 0
    assert "?token=" in text(cli.out)
    assert "the token crosses the network in the clear" in text(cli.err)


def test_a_silent_peer_does_not_block_others() -> None:
    found = serving()
    silent = [socket.create_connection((found.address.host, found.address.port)) for _ in range(50)]
    assert get(found, "/static/main.js").status == 200
    for one in silent:
        one.close()
    found.stop()
