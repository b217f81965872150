from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.errors import Denied
from edl.frameworks import FRAMEWORKS
from edl.inject import change_reasons
from edl.inject.explain_changes import FieldChange, changes
from edl.inject.handlers import AdmissionRequest, mutate
from edl.parsing.namespace_policy import NamespacePolicy
from edl.patches.json_patch import diff
from edl.writes import Json
from manifests.documents import read as documents_of
from tests.edl.inject.drawn import manifests
from tests.edl.manifests import CONTEXT, USER, changed, created, horovod, job, pod

ROOT = Path(__file__).parents[3]
FILES = sorted([*ROOT.glob("tests/golden/*/*/in.yaml"), *ROOT.glob("examples/*/*.yaml")])

ANY = st.sampled_from(list(FRAMEWORKS)).flatmap(manifests)
LAW = settings(deadline=None, max_examples=50)


def explained(manifest: Json) -> dict[str, FieldChange]:
    return {change.path: change for change in changes(manifest, created(manifest))}


@cache
def all_changes(file: Path) -> tuple[FieldChange, ...]:
    """Those of every document that is not refused."""
    documents = [found for found in documents_of(file) if found]
    return tuple(change for document in documents for change in _changes(document))


def _changes(manifest: Json) -> tuple[FieldChange, ...]:
    try:
        return changes(manifest, created(manifest))
    except Denied:
        return ()


def unexplained(found: Iterable[FieldChange]) -> list[str]:
    """Places of changes without a reason: `edl.inject.change_reasons` lacks a line for them."""
    return [change.path for change in found if not change.why]


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_change_of_every_file_has_a_reason(file: Path) -> None:
    assert unexplained(all_changes(file)) == []


def test_every_reason_is_needed() -> None:
    """So that what is no longer injected is no longer explained."""
    found = {change.why for file in FILES for change in all_changes(file)}
    policy = NamespacePolicy(default_priority="high")
    manifest = job(framework="none")
    stored = mutate(AdmissionRequest("CREATE", manifest, None, USER, policy), CONTEXT).manifest
    found |= {change.why for change in changes(manifest, stored)}
    tables = (
        change_reasons.JOB,
        change_reasons.POD_METADATA,
        change_reasons.POD,
        change_reasons.NEW_IN_POD,
    )
    written = {words for table in tables for words in table.values() if "{" not in words}
    assert written <= found


@LAW
@given(ANY)
def test_every_change_has_a_reason(manifest: Json) -> None:
    assert unexplained(_changes(manifest)) == []


@LAW
@given(ANY)
def test_there_are_changes_where_there_is_a_difference(manifest: Json) -> None:
    stored = created(manifest)
    assert bool(changes(manifest, stored)) == bool(diff(manifest, stored))
    assert changes(stored, created(stored)) == ()


def test_a_change_says_where_what_and_why() -> None:
    found = explained(changed(job(framework="tensorflow", max="4"), "spec suspend", None))
    assert found["spec.suspend"] == FieldChange(
        "spec.suspend",
        "true",
        "it is queued, and starts when the minimum of every role fits at once",
    )
    config = found["spec.template.spec.containers[tensorflow].env[TF_CONFIG]"]
    assert config.what.startswith('{"cluster":$(EDL_CLUSTER),"task":{"type":"worker"')
    assert config.why == "TensorFlow's cluster and this task"
    assert found["metadata.labels[edl.dev/min]"].what == "1"
    assert found["metadata.labels[edl.dev/min]"].why == "the default, written out"


def test_a_value_that_was_there_is_shown_with_what_it_becomes() -> None:
    found = explained(job(framework="tensorflow", max="4", spec={"backoffLimit": 6}))
    assert found["spec.backoffLimit"].what == "6 → 24"
    assert found["spec.completionMode"].what == "NonIndexed → Indexed"


def test_what_is_dropped_is_explained_too() -> None:
    forged = job(framework="none", annotations={"reason": "because"})
    found = explained(forged)["metadata.annotations[edl.dev/reason]"]
    assert (found.what, found.why) == ("removed because", "written only by kubectl-edl")


def test_a_mounted_directory_is_explained_by_the_files_in_it() -> None:
    found = explained(horovod("launcher"))
    place = "spec.template.spec.containers[tensorflow].volumeMounts[/etc/edl]"
    why = "hostfile: live host list; discover_hosts.sh: prints the live host list"
    assert found[place].why == why
    assert found["spec.template.spec.volumes[edl-etc-edl]"].why == why
    assert found["spec.template.spec.volumes[edl-opt-kube]"].why == "kubectl, for the launcher"
    assert found["spec.template.spec.initContainers[edl-kubectl]"].why.startswith("gives the")


def test_a_volume_of_its_user_that_is_named_as_ours_is_said_to_be_there() -> None:
    found = explained(
        changed(
            horovod("launcher"),
            "spec template spec volumes",
            [{"name": "edl-etc-edl", "emptyDir": {}}],
        )
    )
    mount = found["spec.template.spec.containers[tensorflow].volumeMounts[/etc/edl]"]
    assert mount.why == "the pod's own volume of this name, instead of live files"


def test_a_bare_pod_has_no_template() -> None:
    alone = pod("any", framework="tensorflow", job="mnist", annotations={"rank": "0", "size": "2"})
    found = explained(alone)
    assert found["spec.hostname"].what == "mnist-worker-0"
    assert found[f"metadata.labels[{contract.ROLE}]"].why.startswith("selects the pods of a")


def test_a_change_at_an_unknown_path_is_unexplained() -> None:
    before = job(framework="none")
    after = changed(created(before), "spec template spec dnsPolicy", "None")
    assert unexplained(changes(before, after)) == ["spec.template.spec.dnsPolicy"]
