"""What must hold for every manifest that a user of any framework may write."""

import copy
import itertools
import json
from collections.abc import Sequence
from random import Random

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.contract import registry
from edl.frameworks import FRAMEWORKS
from edl.inject.handlers import AdmissionRequest, validate
from edl.parsing.parser import parse
from edl.patches import json_patch
from edl.writes import Json
from tests.edl.inject.drawn import ROLE_LISTS, manifests
from tests.edl.manifests import (
    CONTEXT,
    USER,
    annotations,
    create,
    created,
    labels,
    pod_spec,
    update,
)

LAW = settings(deadline=None, max_examples=10)
every_framework = pytest.mark.parametrize("framework", ROLE_LISTS)


def test_no_framework_is_without_law() -> None:
    assert ROLE_LISTS.keys() == FRAMEWORKS.keys()


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_twice_is_once(framework: str, data: st.DataObject) -> None:
    once = created(data.draw(manifests(framework)))
    assert created(once) == once
    stored = json.loads(json.dumps(once))
    assert created(stored) == stored


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_the_patch_turns_what_was_given_into_what_is_stored(
    framework: str, data: st.DataObject
) -> None:
    # Through JSON, as it comes over the wire: nothing in it is the same object twice.
    before = json.loads(json.dumps(data.draw(manifests(framework))))
    after = created(before)
    operations = json.loads(json.dumps(json_patch.diff(before, after)))
    assert jsonpatch.apply_patch(before, operations) == after


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_a_second_pass_warns_of_nothing_new(framework: str, data: st.DataObject) -> None:
    """A completed Job is marked and warns of nothing; a bare Pod has no mark and may repeat."""
    manifest = data.draw(manifests(framework))
    first = create(manifest).warnings
    second = create(created(manifest)).warnings
    assert set(second) <= (set(first) if manifest["kind"] == "Pod" else set())


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_what_comes_out_is_valid(framework: str, data: st.DataObject) -> None:
    stored = created(data.draw(manifests(framework)))
    validate(AdmissionRequest("CREATE", stored, None, USER), CONTEXT)
    assert parse(stored).framework == framework


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_what_went_in_is_never_changed(framework: str, data: st.DataObject) -> None:
    manifest = data.draw(manifests(framework))
    before = copy.deepcopy(manifest)
    stored = created(manifest)
    assert manifest == before
    kept = copy.deepcopy(stored)
    created(stored)
    update(stored, stored)
    assert stored == kept


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_the_order_of_labels_does_not_matter(
    framework: str, data: st.DataObject, random: Random
) -> None:
    manifest = data.draw(manifests(framework))
    shuffled = copy.deepcopy(manifest)
    parts = [shuffled, shuffled["spec"].get("template", {})]
    found = [part["metadata"] for part in parts if "metadata" in part]
    for metadata, place in itertools.product(found, ("labels", "annotations")):
        if place in metadata:
            pairs = list(metadata[place].items())
            random.shuffle(pairs)
            metadata[place] = dict(pairs)
    assert created(shuffled) == created(manifest)


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_an_update_without_a_change_changes_nothing(framework: str, data: st.DataObject) -> None:
    stored = created(data.draw(manifests(framework)))
    verdict = update(copy.deepcopy(stored), stored)
    assert verdict.manifest == stored
    assert verdict.warnings == ()


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_what_containers_say_themselves_wins(framework: str, data: st.DataObject) -> None:
    manifest = data.draw(manifests(framework))
    stored = {container["name"]: container for container in containers(created(manifest))}
    for own in containers(manifest):
        found = stored[own["name"]]
        for field in ("env", "ports", "volumeMounts"):
            assert survives(own.get(field, []), found.get(field, []))
        for field in ("command", "args", "lifecycle"):
            assert found.get(field) == own[field] if field in own else True
        limits = own.get("resources", {}).get("limits", {})
        assert limits.items() <= found.get("resources", {}).get("limits", {}).items()


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_variables_and_mounts_stand_once(framework: str, data: st.DataObject) -> None:
    stored = created(data.draw(manifests(framework)))
    for container in containers(stored):
        for field, key in (("env", "name"), ("volumeMounts", "mountPath"), ("ports", "name")):
            found = [item[key].rstrip("/") for item in container.get(field, [])]
            assert len(set(found)) == len(found)


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_what_pods_say_themselves_wins(framework: str, data: st.DataObject) -> None:
    manifest = data.draw(manifests(framework))
    own, stored = pod_spec(manifest), pod_spec(created(manifest))
    for field in ("volumes", "schedulingGates"):
        assert survives(own.get(field, []), stored.get(field, []))
    for field in ("serviceAccountName", "shareProcessNamespace", "restartPolicy"):
        assert stored.get(field) == own.get(field, stored.get(field))
    assert own.get("nodeSelector", {}).items() <= stored.get("nodeSelector", {}).items()
    if own.get("schedulerName") == "mine":
        assert stored["schedulerName"] == "mine"
    for name, rules in own.get("affinity", {}).items():
        assert rules.items() <= stored["affinity"][name].items()


@pytest.mark.slow
@every_framework
@LAW
@given(data=st.data())
def test_own_labels_and_annotations_stay(framework: str, data: st.DataObject) -> None:
    manifest = data.draw(manifests(framework))
    stored = created(manifest)
    pairs = [(manifest, stored)]
    if "template" in manifest["spec"]:
        pairs.append((manifest["spec"]["template"], stored["spec"]["template"]))
    for before, after in pairs:
        assert labels(before).items() <= labels(after).items()
        own = {
            name: text
            for name, text in annotations(before).items()
            if name not in registry.OWNED_ANNOTATIONS
        }
        assert own.items() <= annotations(after).items()


def survives(own: Sequence[Json], stored: Sequence[Json]) -> bool:
    """Whether a user's list stands in a stored one, unchanged and in its order."""
    rest = iter(stored)
    return all(entry in rest for entry in own)


def containers(manifest: Json) -> list[Json]:
    spec = pod_spec(manifest)
    return [*(spec.get("initContainers") or []), *spec["containers"]]
