from pathlib import Path

import pytest
import yaml
from hypothesis import given

from edl import contract
from edl.errors import Denied
from edl.inject.explain import Change, changes
from edl.patch import diff
from edl.writes import Json
from tests.edl.inject.test_laws import LAW, manifests
from tests.edl.manifests import changed, created, horovod, job, pod

ROOT = Path(__file__).parents[3]
FILES = sorted([*ROOT.glob("tests/golden/*/*/in.yaml"), *ROOT.glob("examples/*/*.yaml")])


def explained(manifest: Json) -> dict[str, Change]:
    return {change.path: change for change in changes(manifest, created(manifest))}


def unexplained(manifest: Json) -> list[str]:
    """Places of changes without a reason: a line for them is missing in `edl.inject.explain`."""
    try:
        after = created(manifest)
    except Denied:
        return []
    return [change.path for change in changes(manifest, after) if not change.why]


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_change_of_every_file_has_a_reason(file: Path) -> None:
    documents = [found for found in yaml.safe_load_all(file.read_text()) if found]
    assert [path for document in documents for path in unexplained(document)] == []


@LAW
@given(manifests())
def test_every_change_has_a_reason(manifest: Json) -> None:
    assert unexplained(manifest) == []


@LAW
@given(manifests())
def test_there_are_changes_where_there_is_a_difference(manifest: Json) -> None:
    stored = created(manifest)
    assert bool(changes(manifest, stored)) == bool(diff(manifest, stored))
    assert changes(stored, created(stored)) == ()


def test_a_change_says_where_what_and_why() -> None:
    found = explained(changed(job(framework="tensorflow", max="4"), "spec suspend", None))
    assert found["spec.suspend"] == Change(
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
    assert (found.what, found.why) == ("removed because", "written by kubectl-edl alone")


def test_a_mounted_directory_is_explained_by_the_files_in_it() -> None:
    found = explained(horovod("launcher"))
    place = "spec.template.spec.containers[tensorflow].volumeMounts[/etc/edl]"
    why = "hostfile: live host list; discover_hosts.sh: prints the live host list"
    assert found[place].why == why
    assert found["spec.template.spec.volumes[edl-etc-edl]"].why == why
    assert found["spec.template.spec.volumes[edl-opt-kube]"].why == "kubectl, for the launcher"
    assert found["spec.template.spec.initContainers[edl-kubectl]"].why.startswith("gives the")


def test_a_bare_pod_has_no_template() -> None:
    alone = pod("any", framework="tensorflow", job="mnist", annotations={"rank": "0", "size": "2"})
    found = explained(alone)
    assert found["spec.hostname"].what == "mnist-worker-0"
    assert found[f"metadata.labels[{contract.ROLE}]"].why.startswith("the pods of a")


def test_a_place_that_nobody_knows_is_a_change_without_a_reason() -> None:
    before = job(framework="none")
    after = changed(created(before), "spec template spec dnsPolicy", "None")
    gaps = [change for change in changes(before, after) if not change.why]
    assert gaps == [Change("spec.template.spec.dnsPolicy", "None", "")]
