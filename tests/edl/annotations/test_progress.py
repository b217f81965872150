"""How much of its work a job has done: said by annotation, or counted in work items."""

import msgspec
import pytest

from edl.errors import Denied
from edl.kube.decode import job_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.model import Role
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import changed, created, job, role_manifest, update

PATH = "metadata.annotations[edl.dev/progress]"
NOTE = "metadata annotations edl.dev/progress"


def saying(text: str) -> Json:
    return job(framework="none", min="1", max="8", annotations={"progress": text})


@pytest.mark.parametrize(
    ("text", "part"),
    [("0", 0), ("93", 0.93), ("93%", 0.93), ("99.5", 0.995), ("100%", 1), ("0.5%", 0.005)],
)
def test_progress_is_per_cent_with_or_without_its_sign(text: str, part: float) -> None:
    assert parse(saying(text)).scheduling.progress == pytest.approx(part)


@pytest.mark.parametrize("text", ["", "-1", "101", "1e2", "half", "93 %", "nan", "1000"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(Denied) as denied:
        parse(saying(text))
    wanted = f'{PATH}: "{text}"; per cent, from 0 to 100, such as 93 or 93%'
    assert str(denied.value) == wanted


@pytest.mark.parametrize(("text", "instead"), [("0.93", "93"), ("1.0", "100")])
def test_a_fraction_is_refused_with_what_to_write_instead(text: str, instead: str) -> None:
    with pytest.raises(Denied) as denied:
        parse(saying(text))
    assert str(denied.value) == (
        f'{PATH}: "{text}" would be {text} per cent; write {instead}, or {text}% if you mean that'
    )


def test_it_may_be_said_and_changed_at_any_time() -> None:
    queued = created(role_manifest("worker"))
    running = changed(queued, "spec suspend", value=False)
    for old, text in ((queued, "0"), (running, "50"), (changed(running, NOTE, "50"), "95%")):
        new = changed(old, NOTE, text)
        verdict = update(new, old)
        assert verdict.manifest == new
        assert verdict.warnings == ()


def items(done: int | None, note: str = "") -> Role:
    """A stored Job of ten work items."""
    manifest = job(framework="none", min="1", max="8", annotations={"progress": note})
    annotations = manifest["metadata"]["annotations"]
    if not note:
        del annotations["edl.dev/progress"]
    metadata = {"uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    stored = manifest | {
        "metadata": {"namespace": "lab"} | manifest["metadata"] | metadata,
        "spec": manifest["spec"] | ({} if done is None else {"completions": 10}),
        "status": {"succeeded": done or 0},
    }
    found = job_facts.job(msgspec.json.encode(stored), ShapeInterner()).role
    assert found is not None
    return found


def test_work_items_that_are_done_are_progress() -> None:
    assert [items(done).request.progress for done in (0, 9, 10)] == [0, 0.9, 1]


def test_a_work_queue_of_unknown_length_has_none() -> None:
    assert items(None).request.progress is None


def test_what_its_user_says_counts_more_than_what_is_counted() -> None:
    assert items(9, "20").request.progress == pytest.approx(0.2)


def test_malformed_progress_is_reported_and_the_other_source_is_used() -> None:
    found = items(3, "soon")
    assert found.request.progress == pytest.approx(0.3)
    assert found.request.problem.startswith(f'{PATH}: "soon"')
