"""What is misshapen is refused with every path, before anybody reads it."""

from typing import Any

import pytest

from edl.errors import Denied
from edl.inject import manifest_schema
from edl.inject.handlers import AdmissionRequest, mutate, validate
from edl.writes import Json
from tests.edl.manifests import CONTEXT, USER, changed, created, job, pod


def findings(manifest: Json) -> list[str]:
    try:
        manifest_schema.check(manifest)
    except Denied as denied:
        return [str(finding) for finding in denied.findings]
    return []


@pytest.mark.parametrize(
    ("path", "value", "finding"),
    [
        ("metadata labels", ["a"], "metadata.labels: a list; an object belongs here"),
        ("metadata annotations", "a", 'metadata.annotations: "a"; an object belongs here'),
        (
            "metadata ownerReferences",
            [{"apiVersion": "apps/v1", "kind": ["ReplicaSet"]}],
            "metadata.ownerReferences[0].kind: a list; a text belongs here",
        ),
        ("spec", 1, "spec: 1; an object belongs here"),
        ("spec parallelism", "2", 'spec.parallelism: "2"; a whole number belongs here'),
        ("spec parallelism", True, "spec.parallelism: true; a whole number belongs here"),
        ("spec suspend", 0.5, "spec.suspend: 0.5; true or false belongs here"),
        ("status", ["a"], "status: a list; an object belongs here"),
        ("status failed", "3", 'status.failed: "3"; a whole number belongs here'),
        (
            "spec template spec containers",
            {"name": "a"},
            "spec.template.spec.containers: an object; a list belongs here",
        ),
        (
            "spec template spec volumes",
            [{"name": "a", "projected": {"sources": [5]}}],
            "spec.template.spec.volumes[0].projected.sources[0]: 5; an object belongs here",
        ),
        (
            "spec template spec containers",
            [{}, None],
            "spec.template.spec.containers[1]: null; an object belongs here",
        ),
        (
            "spec template spec containers",
            [{"env": [{"name": ["a"]}]}],
            "spec.template.spec.containers[0].env[0].name: a list; a text belongs here",
        ),
        (
            "spec template spec containers",
            [{"command": "python"}],
            'spec.template.spec.containers[0].command: "python"; a list belongs here',
        ),
        (
            "spec template spec securityContext",
            ["runAsUser"],
            "spec.template.spec.securityContext: a list; an object belongs here",
        ),
        (
            "spec template spec containers",
            [{"securityContext": "none"}],
            'spec.template.spec.containers[0].securityContext: "none"; an object belongs here',
        ),
        (
            "spec template spec containers",
            [{"args": [8]}],
            'spec.template.spec.containers[0].args[0]: 8 is not a string; quote it: "8"',
        ),
        (
            "spec template spec containers",
            [{"image": True}],
            'spec.template.spec.containers[0].image: True is not a string; quote it: "true"',
        ),
        (
            "spec template spec containers",
            [{"env": [{"name": "X", "value": 1}]}],
            'spec.template.spec.containers[0].env[0].value: 1 is not a string; quote it: "1"',
        ),
        (
            "spec template spec containers",
            "x" * 70,
            f'spec.template.spec.containers: "{"x" * 62}…; a list belongs here',
        ),
        (
            "spec template spec schedulingGates",
            [{"name": 4}],
            'spec.template.spec.schedulingGates[0].name: 4 is not a string; quote it: "4"',
        ),
        (
            "spec template spec resources",
            {"limits": ["cpu"]},
            "spec.template.spec.resources.limits: a list; an object belongs here",
        ),
        (
            "spec template spec nodeSelector",
            [],
            "spec.template.spec.nodeSelector: a list; an object belongs here",
        ),
    ],
)
def test_a_wrong_type_is_found_where_it_stands(path: str, value: Any, finding: str) -> None:  # noqa: ANN401
    assert findings(changed(job(framework="none"), path, value)) == [finding]


@pytest.mark.parametrize("place", ["matchExpressions", "matchFields"])
def test_the_terms_of_a_node_affinity_are_texts(place: str) -> None:
    term = {place: [{"key": 5, "operator": "In", "values": "x"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    manifest = job(framework="none", pod={"affinity": {"nodeAffinity": required}})
    terms = (
        "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        f".nodeSelectorTerms[0].{place}[0]"
    )
    assert findings(manifest) == [
        f'{terms}.key: 5 is not a string; quote it: "5"',
        f'{terms}.values: "x"; a list belongs here',
    ]


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_labels_and_annotations_are_texts(place: str) -> None:
    manifest = changed(
        job(framework="none"), f"spec template metadata {place}", {"a": 1, "b": None}
    )
    path = f"spec.template.metadata.{place}"
    assert findings(manifest) == [f'{path}[a]: 1 is not a string; quote it: "1"']
    ours = changed(job(framework="none"), f"metadata {place}", {"edl.dev/min": None})
    path = f"metadata.{place}"
    assert findings(ours) == [f"{path}[edl.dev/min]: is empty; write its value, or remove it"]


def test_everything_wrong_is_found_at_once() -> None:
    manifest = job(framework="none") | {"metadata": [], "spec": {"template": 1, "managedBy": {}}}
    assert [one.split(":")[0] for one in findings(manifest)] == [
        "metadata",
        "spec.managedBy",
        "spec.template",
    ]


def test_a_pod_is_looked_at_as_a_pod() -> None:
    wrong = pod("a", framework="none", spec={"containers": 1})
    assert findings(wrong) == ["spec.containers: 1; a list belongs here"]
    assert findings({"kind": ["Pod"]}) == ["kind: a list; a text belongs here"]


@pytest.mark.parametrize("name", ["metadata", "spec"])
def test_null_is_as_good_as_absent(name: str) -> None:
    assert findings(job(framework="none") | {name: None}) == []


def test_a_null_template_is_accepted() -> None:
    stored = created(job(framework="none", spec={"template": None}))
    assert stored["spec"]["suspend"] is True


@pytest.mark.parametrize("look", [mutate, validate])
def test_both_looks_look_at_both_objects(look: Any) -> None:  # noqa: ANN401 - either function
    good, bad = job(framework="none"), job(framework="none") | {"spec": []}
    for new, old in ((bad, good), (good, bad)):
        with pytest.raises(Denied, match="spec: a list"):
            look(AdmissionRequest("UPDATE", new, old, USER), CONTEXT)


@pytest.mark.parametrize("place", ["metadata", "spec template metadata"])
def test_a_label_is_no_longer_than_the_api_server_takes(place: str) -> None:
    """It looks at that only after its webhooks."""
    manifest = changed(job(framework="none"), f"{place} labels", {"a": "b" * 64, "c": "d" * 63})
    path = f"{place.replace(' ', '.')}.labels[a]"
    assert findings(manifest) == [f'{path}: "{"b" * 63}…" has 64 characters; at most 63']


def test_of_many_misfits_the_first_hundred_are_told() -> None:
    assert len(findings(job(framework="none", pod={"containers": [[0]] * 5_000}))) == 100
