"""How long a job is expected to run, as its user says: for estimates only."""

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
from tests.edl.planner import states

HOUR = timedelta(hours=1)


def saying(text: str) -> Json:
    return job(framework="none", min="1", max="8", annotations={"duration": text})


@pytest.mark.parametrize(
    ("text", "length"),
    [("90m", 1.5 * HOUR), ("2h30m", 2.5 * HOUR), ("1d", 24 * HOUR), ("1d12h", 36 * HOUR)],
)
def test_a_length_is_numbers_with_their_units(text: str, length: timedelta) -> None:
    assert parse(saying(text)).scheduling.duration == length


@pytest.mark.parametrize("text", ["", "2.5h", "30m2h", "0s", "two hours", "1w"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Denied) as denied:
        parse(saying(text))
    wanted = (
        f'metadata.annotations[edl.dev/duration]: "{text}"; a time such as 60s, 5m, 2h30m or 1d'
    )
    assert str(denied.value) == wanted


def test_a_role_carries_it_and_a_wrong_one_holds_nothing_up() -> None:
    def role(text: str) -> tuple[timedelta | None, str]:
        manifest = member("worker", notes={"edl.dev/duration": text})
        found = job_facts.job(msgspec.json.encode(manifest), ShapeInterner()).role
        assert found is not None
        return found.request.duration, found.request.problem

    assert role("2h") == (2 * HOUR, "")
    length, reason = role("soon")
    assert length is None
    assert "edl.dev/duration" in reason


def test_the_longest_of_its_jobs_is_the_training_jobs() -> None:
    all_roles = states.job(
        "mnist", states.role("ps", duration=HOUR), states.role("worker", duration=2 * HOUR)
    )
    assert all_roles.duration == 2 * HOUR
    assert states.worker("other", 1, 1).duration is None
