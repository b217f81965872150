"""A gang requests no nodes for a required topology whose label they would not have."""

from typing import Any

import pytest

from edl import contract, messages
from edl.model import Code, ObjectRef
from edl.planner.decision_limits import Limits, Provisioner, ProvisionerSettings
from tests.edl.provisioning.autoscaled_cluster import PER_NODE, AutoscaledCluster

RACK = "example.com/rack"


class LabelledCluster(AutoscaledCluster):
    """Karpenter with one NodePool, which has a node, and a gang that requires one rack."""

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits=limits)
        self.api.unserved = frozenset()
        self.pool("default")
        self.node("made", PER_NODE, **{contract.NODE_POOL: "default"})

    def pool(self, name: str, **template: Any) -> None:  # noqa: ANN401 - JSON
        self.create("NodePool", "", {"metadata": {"name": name}, "spec": {"template": template}})

    def asks(self) -> bool:
        """Whether a gang that requires one rack requests nodes."""
        self.gang("gang", 4, annotations={"required-topology": RACK})
        self.round()
        return bool(self.plan.requests)


def test_no_nodes_are_requested_for_a_label_that_no_node_would_have() -> None:
    world = LabelledCluster()
    assert not world.asks()
    (held,) = world.plan.held
    text = f"no node that it may use has the label {RACK} of its topology"
    assert (held.reason.code, messages.message(held.reason)) == (Code.NO_ELIGIBLE_NODE, text)


def test_they_are_requested_once_the_template_of_a_pool_names_the_label() -> None:
    world = LabelledCluster()
    assert not world.asks()
    labels = {"template": {"metadata": {"labels": {RACK: "r1"}}}}
    world.api.patch(ObjectRef("NodePool", "", "default"), {"spec": labels})
    world.round()
    assert world.plan.requests


@pytest.mark.parametrize(("operator", "asks"), [("In", True), ("DoesNotExist", False)])
def test_a_requirement_of_a_pool_names_a_label_of_its_nodes(operator: str, *, asks: bool) -> None:
    world = LabelledCluster()
    world.pool("second", spec={"requirements": [{"key": RACK, "operator": operator}]})
    world.node("other", PER_NODE, **{contract.NODE_POOL: "second"})
    assert world.asks() is asks


def test_a_label_that_a_node_has_may_be_set_on_others() -> None:
    world = LabelledCluster()
    world.node("small", 1, **{RACK: "r1"})
    assert world.asks()


def test_labels_of_a_pool_without_nodes_are_unknown() -> None:
    world = LabelledCluster()
    world.pool("second")
    assert world.asks()


def test_labels_of_nodes_of_other_autoscalers_are_unknown() -> None:
    world = LabelledCluster(Limits(provisioning=ProvisionerSettings(Provisioner.REQUEST)))
    assert world.asks()
    world = LabelledCluster()
    world.api.delete(ObjectRef("NodePool", "", "default"))
    assert world.asks()


def test_a_request_stays_while_a_node_that_came_for_it_has_no_label_yet() -> None:
    world = LabelledCluster()
    world.api.delete(ObjectRef("Node", "", "made"))
    assert world.asks()
    world.node("made", PER_NODE, **{contract.NODE_POOL: "default"})
    world.round()
    assert world.plan.requests
