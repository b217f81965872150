"""Kueue's priorities of workloads become PriorityClasses."""

import pytest

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import Malformed, path_of
from edl.convert.sources.workload_priorities import classes
from edl.writes import Json
from tests.edl.convert.documents import jobs, only, replica, tfjob

LABEL = contract.KUEUE_PRIORITY_CLASS


def workload_class(name: str = "prod", value: int = 1000, **more: str) -> Json:
    api = "kueue.x-k8s.io/v1beta1"
    names = {"apiVersion": api, "kind": "WorkloadPriorityClass", "metadata": {"name": name}}
    return names | {"value": value} | more


def prioritised(own: str = "") -> Json:
    specs = {"Worker": replica("tensorflow"), "PS": replica("tensorflow")}
    for one in specs.values() if own else ():
        one["template"]["spec"]["priorityClassName"] = own
    document = tfjob(tfReplicaSpecs=specs)
    document["metadata"]["labels"] = {LABEL: "prod", "team": "vision"}
    return document


def test_a_class_becomes_a_priority_class() -> None:
    found = convert(workload_class(description="for serving"))
    assert found is not None
    assert found.dropped == ()
    assert only(found) == {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "prod"},
        "value": 1000,
        "description": "for serving",
    }
    (note,) = found.notes
    assert note.instead == "add preemptionPolicy: Never where they must not"


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (workload_class(value=10**9 + 1), ("value",)),
        (workload_class("system-mine"), ("metadata", "name")),
    ],
)
def test_a_class_that_kubernetes_would_refuse_is_an_error(
    document: Json, place: tuple[str, ...]
) -> None:
    with pytest.raises(Malformed) as caught:
        convert(document)
    assert [one.place for one in caught.value.remarks] == [place]


@pytest.mark.parametrize("own", ["", "prod"])
def test_a_label_becomes_the_class_of_the_pods_if_it_is_known(own: str) -> None:
    found = convert(prioritised(own), {"prod"})
    assert found is not None
    assert found.dropped == ()
    assert len(found.manifests) == 2
    for manifest in found.manifests:
        assert manifest["spec"]["template"]["spec"]["priorityClassName"] == "prod"
        assert LABEL not in manifest["metadata"]["labels"]
        assert manifest["metadata"]["labels"]["team"] == "vision"


def test_a_label_is_dropped_with_a_remedy_if_its_class_is_unknown() -> None:
    found = jobs(prioritised())
    (lost,) = found.dropped
    assert path_of(lost.place) == f"metadata.labels[{LABEL}]"
    assert lost.instead == "set priorityClassName: prod in the pod templates when it exists"
    for manifest in found.manifests:
        assert "priorityClassName" not in manifest["spec"]["template"]["spec"]
        assert LABEL not in manifest["metadata"]["labels"]


def test_the_class_of_the_pods_wins_over_a_label() -> None:
    found = convert(prioritised("high"), {"prod", "high"})
    assert found is not None
    assert [one.instead for one in found.dropped] == [
        'their priorityClassName "high" orders the Job: choose one of them'
    ]
    for manifest in found.manifests:
        assert manifest["spec"]["template"]["spec"]["priorityClassName"] == "high"


def test_classes_of_both_kinds_are_known_by_name() -> None:
    other = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    hostile: list[Json] = [{"kind": "PriorityClass"}, {"apiVersion": 1, "kind": []}]
    hostile += [other, other | {"metadata": []}, other | {"metadata": {"name": 7}}]
    named = other | {"metadata": {"name": "high"}}
    assert classes([workload_class(), named, tfjob(), *hostile]) == {"prod", "high"}
