"""Injections as the old systems' sources have them: tests/golden/README.md says how they came."""

import copy
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from edl.contract import pod_limits, registry
from edl.contract.manifest_parts import labels, template
from edl.frameworks import FRAMEWORKS
from edl.inject import ttl_after_finished
from edl.inject.handlers import AdmissionRequest, mutate, validate
from edl.parsing.namespace_policy import SILENT
from edl.patches import json_patch
from edl.writes import Json
from tests.edl.manifests import USER
from tests.golden.cases import CONTEXT, Denial, Golden, denials, goldens, sources
from webhook.admission_review import Review
from webhook.handler import handle

ROOT = Path(__file__).parents[3]
GOLDENS = goldens()
DENIALS = denials()
every_golden = pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name)
_QUEUED = ("spec", "suspend")
"""Says something else from now on: what the user meant by it is edl.dev/paused."""
_LATER = ("spec", ttl_after_finished.FIELD)
"""It counts when all Jobs have ended; until then an annotation keeps it."""
_DEFAULTS = {"backoffLimit": 6, "schedulerName": "default-scheduler"}
"""Written out, they cannot be told from what the API server writes by itself."""


def created(manifest: Json) -> Json:
    return mutate(AdmissionRequest("CREATE", manifest, None, USER), CONTEXT).manifest


@every_golden
def test_what_users_write_becomes_what_the_sources_say(golden: Golden) -> None:
    assert created(golden.given) == golden.stored


def test_the_limits_of_pods_know_each_label_that_the_webhook_writes() -> None:
    """A pod whose own labels are at the limit may get these, too."""
    written = {
        name
        for golden in GOLDENS
        for name in labels(_pod(golden.stored)).keys() - labels(_pod(golden.given)).keys()
    }
    assert written == pod_limits.WRITTEN_LABELS


def _pod(manifest: Json) -> Json:
    return manifest if manifest["kind"] == "Pod" else template(manifest)


@every_golden
def test_twice_is_once(golden: Golden) -> None:
    assert created(golden.stored) == golden.stored
    validate(AdmissionRequest("CREATE", golden.stored, None, USER), CONTEXT)


@every_golden
def test_the_patch_of_the_answer_makes_it(golden: Golden) -> None:
    before = json.loads(json.dumps(golden.given))
    operations = json.loads(json.dumps(json_patch.diff(before, created(before))))
    assert jsonpatch.apply_patch(golden.given, operations) == golden.stored


@every_golden
def test_the_order_of_names_does_not_matter(golden: Golden) -> None:
    assert created(_reversed(golden.given)) == golden.stored


@every_golden
def test_what_the_user_set_himself_is_still_there(golden: Golden) -> None:
    assert not list(_lost(golden.given, golden.stored, ()))


_SOURCE = re.compile(
    r"\b[\w-]+(?:/[\w.-]+)*\.(?:go|py|cc|md|yaml)\b"  # a file
    r"|\b\w[\w-]+/\w[\w-]+"  # a repository
    r"|\bcontract\b|\bAPI server\b|\bKubernetes' own|\bThe user's\b|\bJob's own"
)
_SECTIONS = re.compile(r"docs/kubernetes\.md (\d+)(?: and (\d+))?")


@every_golden
def test_each_names_a_source_of_its_values(golden: Golden) -> None:
    """What stands in another project's file cannot be looked up here; what is ours is."""
    said = sources(golden)
    framework = golden.name.partition("/")[0]
    cases = {one.name.removeprefix(f"{framework}/") for one in GOLDENS}
    others = re.findall(r"\b[Aa]s (?:in )?([a-z]+(?:-[a-z]+)*)", said)
    assert _SOURCE.search(said) or cases.intersection(others), said
    assert set(re.findall(r"^As ([a-z-]+)", said)) <= cases
    pages = re.findall(r"\b((?:docs|edl|tests)/[\w/.-]+\.(?:md|py))", said)
    assert [page for page in pages if not (ROOT / page).is_file()] == []
    facts = (ROOT / "docs" / "kubernetes.md").read_text()
    sections = [number for pair in _SECTIONS.findall(said) for number in pair if number]
    assert [one for one in sections if f"\n{one}. **" not in facts] == []


def test_every_framework_has_its_goldens() -> None:
    counted = [golden.name.partition("/")[0] for golden in GOLDENS]
    assert set(counted) == set(FRAMEWORKS)
    assert len(counted) >= 60


@pytest.mark.parametrize("denial", DENIALS, ids=lambda denial: denial.name)
def test_a_refusal_tells_everything_at_once(denial: Denial) -> None:
    metadata = denial.given.get("metadata") or {}
    review = Review(
        uid="1",
        kind=denial.given["kind"],
        operation="CREATE",
        namespace=metadata.get("namespace", ""),
        name=metadata.get("name", ""),
        user=USER,
        manifest=denial.given,
        old=None,
    )
    refusal = handle(review, SILENT, mutate, CONTEXT).answer.refusal
    assert refusal is not None
    assert refusal.message == denial.message


def _reversed(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else copy.copy(value)


def _lost(own: Any, stored: Any, path: tuple[str, ...]) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Paths of what stands in `own` and not, unchanged, in `stored`."""
    name = path[-1] if path else ""
    defaulted = name in _DEFAULTS and own == _DEFAULTS[name]
    if path in (_QUEUED, _LATER) or name in registry.OWNED_ANNOTATIONS or defaulted:
        return
    if isinstance(own, dict) and isinstance(stored, dict):
        for name, value in own.items():
            yield from _lost(value, stored.get(name), (*path, name))
    elif isinstance(own, list) and isinstance(stored, list):
        yield from _lost_items(own, stored, path)
    elif own != stored:
        yield f"{'.'.join(path)}: {own!r} became {stored!r}"


def _lost_items(own: Sequence[Any], stored: Sequence[Any], path: tuple[str, ...]) -> Iterator[str]:
    """The user's items stand in the stored list in their order, perhaps with more in them."""
    rest = iter(stored)
    for item in own:
        if not any(not list(_lost(item, candidate, path)) for candidate in rest):
            yield f"{'.'.join(path)}: {item!r} is gone"
