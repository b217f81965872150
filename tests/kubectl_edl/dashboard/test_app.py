"""Responses and refusals of the app."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from edl import contract
from tests.kubectl_edl.dashboard.served_page import SECRET, ServedPage, trained

STATIC = Path(str(files("kubectl_edl.dashboard"))) / "static"
JOB = "/jobs/default/mnist"
REQUEST = {"namespace": "default", "name": "mnist", "size": 2}
MAX = {"namespace": "default", "name": "mnist", "max": 8}


@pytest.fixture(scope="module")
def served() -> ServedPage:
    return ServedPage(trained())


def test_the_page_has_its_secret_and_nothing_inline(served: ServedPage) -> None:
    answer = served.client.get("/")
    assert answer.status_code == 200
    assert SECRET in answer.text
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", answer.text)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["Cache-Control"] == "no-store"


def test_every_file_that_the_page_and_its_modules_name_is_there(served: ServedPage) -> None:
    pages = (served.client.get(path).text for path in ("/", JOB))
    named = {name for page in pages for name in re.findall(r"/static/([\w.-]+)", page)}
    for path in STATIC.glob("*.js"):
        named |= set(re.findall(r'from "\./([\w.-]+)"', path.read_text()))
    assert named == {path.name for path in STATIC.iterdir()}
    with served.client.get("/static/main.js") as script:
        assert script.mimetype == "text/javascript"


def test_every_element_used_by_a_script_is_in_the_page() -> None:
    served = ServedPage(trained(), scales=True)
    modules = {"main.js", "job.js"}
    for path, script in (("/", "main.js"), (JOB, "job.js")):
        there = set(re.findall(r'\bid="([\w-]+)"', served.client.get(path).text))
        own = [STATIC / name for name in imported(script)]
        modules |= {path.name for path in own}
        asked = {
            name for path in own for name in re.findall(r'byId\("([\w-]+)"\)', path.read_text())
        }
        assert asked <= there
    assert modules | {"theme.js"} == {path.name for path in STATIC.glob("*.js")}


def imported(script: str) -> set[str]:
    """A module with those that it imports, and those that they import."""
    below = re.findall(r'from "\./([\w.-]+)"', (STATIC / script).read_text())
    return {script}.union(*map(imported, below))


def test_scripts_are_short_enough_to_be_read_in_one_sitting() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in STATIC.iterdir()}
    assert max(lengths.values()) <= 300, lengths


def test_events_begin_with_the_newest_state(served: ServedPage) -> None:
    served.board.show(b'{"a":1}')
    answer = served.client.get("/events", buffered=False)
    parts = answer.iter_encoded()
    assert answer.mimetype == "text/event-stream"
    assert next(parts) == b"retry: 2000\n\n"
    assert next(parts) == b'event: state\ndata: {"a":1}\n\n'
    answer.close()


def test_what_if_shows_the_effect_of_another_max(served: ServedPage) -> None:
    status, answer = served.post("/what-if", MAX)
    assert status == 200
    (own,) = answer["rows"]
    assert (own["now"], own["asIs"]["size"], own["whatIf"]["size"]) == (4, 12, 8)
    assert answer["deciding"].startswith("policy fair")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (MAX | {"name": "other"}, 404, 'no training job "other" in namespace default'),
        (MAX | {"max": 0}, 422, "worker would be 1..0; 1 ≤ min ≤ max"),
        (MAX | {"max": -5}, 422, "1 ≤ min ≤ max"),
        (MAX | {"max": "8"}, 400, "Expected `int`, got `str` - at `$.max`"),
        ({}, 400, "missing required field `namespace`"),
    ],
)
def test_an_invalid_what_if_is_refused_with_allowed_values(
    served: ServedPage, body: dict[str, object], status: int, said: str
) -> None:
    found, answer = served.post("/what-if", body)
    assert (found, said in answer["error"]) == (status, True), answer


def test_scaling_is_refused_without_allow_scale() -> None:
    stage = trained()
    status, answer = ServedPage(stage).post("/scale", REQUEST)
    assert status == 403
    assert "--allow-scale" in answer["error"]
    assert contract.REPLICAS not in stage.job("mnist-worker")["metadata"]["annotations"]


def test_the_page_sets_and_clears_manual_sizes() -> None:
    stage = trained()
    served = ServedPage(stage, scales=True)
    status, answer = served.post("/scale", REQUEST)
    assert status == 200, answer
    assert answer["message"].startswith("mnist: worker set to 2 (manual; min 1, max 12)")
    assert stage.job("mnist-worker")["metadata"]["annotations"][contract.REPLICAS] == "2"
    served.post("/scale", REQUEST | {"size": None})
    assert contract.REPLICAS not in stage.job("mnist-worker")["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (REQUEST | {"size": 0}, 422, "worker takes 1..12, not 0"),
        (REQUEST | {"name": "nobody"}, 404, 'no training job "nobody"'),
        (REQUEST | {"namespace": "other"}, 422, "other is not shown here; only default is"),
    ],
)
def test_a_size_that_cannot_be_is_refused_in_the_words_of_the_command(
    body: dict[str, object], status: int, said: str
) -> None:
    found, answer = ServedPage(trained(), scales=True).post("/scale", body)
    assert (found, said in answer["error"]) == (status, True), answer


@pytest.mark.parametrize(
    "headers",
    [
        {"X_EDL_Page": ""},
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Host": "evil.example"},
    ],
)
def test_another_page_changes_nothing(headers: dict[str, str]) -> None:
    stage = trained()
    status, answer = ServedPage(stage, scales=True).post("/scale", REQUEST, **headers)
    assert status in (403, 421)
    assert answer["error"]
    assert contract.REPLICAS not in stage.job("mnist-worker")["metadata"]["annotations"]


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}])
def test_another_page_gets_no_data_but_may_link_to_ours(
    served: ServedPage, headers: dict[str, str]
) -> None:
    for path in ("/events", f"{JOB}/state"):
        answer = served.client.get(path, headers=headers)
        assert answer.status_code == 403
        assert answer.get_json() == {"error": "another page may not ask for this"}
    for path in ("/", JOB, "/static/page.css"):
        with served.client.get(path, headers=headers) as page:
            assert page.status_code == 200


def test_a_token_is_taken_from_the_address_into_a_cookie_once() -> None:
    client = ServedPage(trained(), token="right").client
    assert client.get("/").status_code == 401
    assert client.get("/?token=wrong").status_code == 401
    taken = client.get("/?token=right")
    assert (taken.status_code, taken.headers["Location"]) == (303, "/")
    cookie = taken.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.get("/").status_code == 200


def test_a_token_counts_in_a_header_and_nowhere_else_in_addresses() -> None:
    client = ServedPage(trained(), token="right").client
    assert client.get("/events?token=right").status_code == 401
    said = client.get("/events", headers={"Authorization": "Bearer right"}, buffered=False)
    assert said.status_code == 200
    said.close()


def test_a_browser_without_a_token_sees_instructions() -> None:
    answer = ServedPage(trained(), token="right").client.get("/", headers={"Accept": "text/html"})
    assert answer.mimetype == "text/html"
    assert "open the address that kubectl edl dashboard printed" in answer.text


def test_an_unknown_path_is_answered_in_one_line(served: ServedPage) -> None:
    assert served.client.get("/nothing").get_json() == {"error": "GET /nothing: Not Found"}
    status, answer = served.post("/what-if", {"namespace": "x" * 5000})
    assert (status, answer["error"]) == (413, "POST /what-if: Request Entity Too Large")


def test_the_number_of_streams_is_limited(served: ServedPage) -> None:
    client = served.client
    held = [client.get("/events", buffered=False) for _ in range(64)]
    assert client.get("/events").status_code == 503
    for one in held:
        one.close()
    last = client.get("/events", buffered=False)
    assert last.status_code == 200
    last.close()
