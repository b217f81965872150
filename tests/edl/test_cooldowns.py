"""`edl.dev/cooldown`, as it is written on a Job."""

from datetime import timedelta

import msgspec
import pytest

from edl.errors import Denied
from edl.kube.decode import job_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.kube.manifests import member
from tests.edl.manifests import job


def saying(text: str) -> Json:
    return job(framework="none", min="1", max="8", annotations={"cooldown": text})


@pytest.mark.parametrize(("text", "seconds"), [("10s", 10), ("2m30s", 150), ("24h", 86_400)])
def test_a_length_is_numbers_with_their_units(text: str, seconds: int) -> None:
    assert parse(saying(text)).scaling.cooldown == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-60s",
        "9s",
        "1d1s",
        "9999999d",
        "1e3s",
        "60s ",
        "0s",
        "\u0666\u0660s",
        "forever",
        "1m" * 500,
    ],
)
def test_anything_else_is_refused_with_the_bounds(text: str) -> None:
    with pytest.raises(Denied) as denied:
        parse(saying(text))
    allowed = "a time from 10s to 1d, such as 60s, 5m, 2h30m or 1d"
    assert str(denied.value) == f'metadata.annotations[edl.dev/cooldown]: "{text}"; {allowed}'


def test_a_role_carries_it_and_a_wrong_one_holds_nothing_up() -> None:
    def role(text: str) -> tuple[timedelta | None, str]:
        manifest = member("worker", notes={"edl.dev/cooldown": text})
        found = job_facts.job(msgspec.json.encode(manifest), ShapeInterner()).role
        assert found is not None
        return found.request.cooldown, found.request.problem

    assert role("5m") == (timedelta(minutes=5), "")
    length, reason = role("1s")
    assert length is None
    assert "edl.dev/cooldown" in reason
