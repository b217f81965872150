"""Selectors of other pods, however many, leave out none of a planned pod's own."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl.contract import pod_limits
from edl.model import (
    ForeignPods,
    Labels,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    TrainingJob,
)
from tests.edl.planner.plans import plan_for, started
from tests.edl.planner.states import cluster, node, shape, worker

ZONE = "zone"
APP = Requirement("app", "In", ("train",))
LABELS: Labels = (("app", "train"),)
TERM = PodAffinityTerm(ZONE, Selector(("ns",), (APP,)))
NEAR: dict[str, Any] = {"affinity": (TERM,)}
APART: dict[str, Any] = {"anti_affinity": (TERM,)}
NODE = node("a", 8, labels={ZONE: "a"})


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_limits, "MAX_COMPARED_SELECTORS", 3)


def crowd(namespace: str) -> PodConstraints:
    """A pod whose selectors share a label with the job's, and come before it by their text."""
    parts = (Requirement("zz", "In", (f"{number}",)) for number in range(9))
    terms = (PodAffinityTerm("none", Selector(("a", "ns"), (APP, part))) for part in parts)
    return PodConstraints(namespace, (), anti_affinity=tuple(terms))


def pair(**rules: object) -> TrainingJob:
    ruled = replace(PodConstraints("ns", LABELS), **rules)  # type: ignore[arg-type]
    return worker("train", 2, 2, shape=shape(1, constraints=ruled))


@pytest.mark.parametrize("namespace", ["a", "ns"])
def test_pods_near_each_other_start_beside_running_pods_with_many_rules(namespace: str) -> None:
    state = cluster(NODE, pair(**NEAR))
    many = ForeignPods("a", crowd(namespace), 1)
    assert started(plan_for(replace(state, foreign_pods=(many,)))) == {"train": {"worker": 2}}


@pytest.mark.parametrize(("rules", "starts"), [(NEAR, True), (APART, False)])
def test_a_planned_pod_counts_by_its_own_rules_beside_many_of_its_namespace(
    rules: dict[str, Any], *, starts: bool
) -> None:
    other = worker("big", 99, 99, shape=shape(1, constraints=crowd("ns")))
    found = started(plan_for(cluster(NODE, other, pair(**rules))))
    assert found == ({"train": {"worker": 2}} if starts else {})
