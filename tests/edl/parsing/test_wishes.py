"""Manual wishes on a Job: how long a size may take, where it falls back to, and who leaves."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from edl.errors import Denied
from edl.kube.decode import job_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.model import Role, ScaleDeadline
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.kube.manifests import member
from tests.edl.manifests import job

MINUTE = timedelta(minutes=1)


def elastic(**annotations: str) -> Json:
    return job(framework="none", min="1", max="8", annotations=annotations)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("60s", MINUTE),
        ("5m", 5 * MINUTE),
        ("2h", 120 * MINUTE),
        ("1s", MINUTE / 60),
        ("1m30s", 1.5 * MINUTE),
        ("1d", 1440 * MINUTE),
    ],
)
def test_a_time_is_numbers_with_their_units(text: str, length: timedelta) -> None:
    assert parse(elastic(scale_timeout=text)).scaling.timeout == length


@pytest.mark.parametrize("text", ["", "0s", "1.5m", "30s1m", "-5s", "60 s", "1w"])
def test_any_other_time_is_refused(text: str) -> None:
    with pytest.raises(Denied) as denied:
        parse(elastic(scale_timeout=text))
    assert str(denied.value) == (
        f'metadata.annotations[edl.dev/scale-timeout]: "{text}"; '
        "a time such as 60s, 5m, 2h30m or 1d"
    )


def test_the_remove_annotation_names_whole_pods() -> None:
    found = parse(elastic(remove="mnist-worker-1-abcde,mnist-worker-10-x"))
    assert found.scaling.removing == ("mnist-worker-1-abcde", "mnist-worker-10-x")


@pytest.mark.parametrize("text", ["", "a,", "a, b", "a_b", "-a", "A"])
def test_a_malformed_pod_name_is_refused(text: str) -> None:
    with pytest.raises(Denied, match="is not a name; names of pods, separated by commas"):
        parse(elastic(remove=text))


def role(**notes: str) -> Role:
    named = {f"edl.dev/{word.replace('_', '-')}": text for word, text in notes.items()}
    found = job_facts.job(msgspec.json.encode(member("worker", notes=named)), ShapeInterner()).role
    assert found is not None
    return found


def test_a_clock_counts_for_the_size_that_it_was_started_for() -> None:
    wish = {"replicas": "4", "scale_timeout": "60s", "scale_fallback": "2"}
    clock = "2026-01-01T00:00:00Z 2 4"
    found = role(**wish, scaling=clock).request.scaling
    assert found is not None
    assert (found.timeout, found.fallback, found.before) == (MINUTE, 2, 2)
    assert found.since is not None
    assert found.since.isoformat() == "2026-01-01T00:00:00+00:00"
    assert role(**wish | {"replicas": "3"}, scaling=clock).request.scaling == ScaleDeadline(
        MINUTE, 2, None, 2
    )
    assert role(**wish).request.scaling == ScaleDeadline(MINUTE, 2)


@pytest.mark.parametrize("clock", ["", "x", "soon 2 4", "2026-01-01T00:00:00 2 4", "2 4"])
def test_a_clock_that_cannot_be_read_starts_anew(clock: str) -> None:
    found = role(replicas="4", scale_timeout="60s", scaling=clock).request.scaling
    assert found is not None
    assert found.since is None


def test_a_limit_without_a_size_limits_nothing() -> None:
    assert role(scale_timeout="60s").request.scaling is None
    assert role(replicas="4").request.scaling is None
    left_over = role(replicas="4", scaling="2026-01-01T00:00:00Z 2 4").request.scaling
    assert left_over is not None
    assert left_over.timeout is None


@pytest.mark.parametrize(
    "wish", [{"replicas": "99"}, {"scale_timeout": "soon"}, {"remove": "a b"}], ids=str
)
def test_a_wish_that_makes_no_sense_does_not_hold_the_job_up(wish: dict[str, Any]) -> None:
    """The webhook was away, or another one let it through."""
    found = role(**wish)
    assert (found.request.replicas, found.request.scaling, found.request.removing) == (
        None,
        None,
        frozenset(),
    )
    assert "edl.dev/" in found.request.problem
