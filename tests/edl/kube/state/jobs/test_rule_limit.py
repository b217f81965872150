"""All pending pods of other owners share the work that a decision does for their rules."""

from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from edl.contract import pod_limits
from edl.kube.decode import object_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.jobs.rule_limit import UNREAD
from edl.kube.state.observe import ClusterFacts, observe
from edl.model import Demand
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.state.test_observe import NOW
from tests.edl.large_pods import REQUIRED, anti_affinity

LARGE = 100
"""Tolerations of a pod within the limits."""


def tolerating(name: str, count: int = LARGE) -> Json:
    """A spec with tolerations of its own."""
    keys = [f"{name}-{place}" for place in range(count)]
    return {"tolerations": [{"key": key, "operator": "Exists"} for key in keys]}


def repelling(name: str, **where: object) -> Json:
    """A spec with anti-affinity of its own."""
    values = [f"{name}-{place}" for place in range(pod_limits.MAX_FOREIGN_TERMS)]
    return anti_affinity(
        *[{"labelSelector": {"matchLabels": {"a": one}}} | where for one in values]
    )


def on_hosts(name: str) -> Json:
    """A spec with a list of nodes of its own."""
    hosts = [f"{name}-{place}" for place in range(pod_limits.MAX_VALUES)]
    expression = {"key": "host", "operator": "NotIn", "values": hosts}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: terms}}}


def beside(name: str) -> Json:
    """A spec with a term about another namespace, which counts as a value, too."""
    apps = [f"{name}-{place}" for place in range(pod_limits.MAX_VALUES - 1)]
    expression = {"key": "app", "operator": "In", "values": apps}
    return anti_affinity(
        {"namespaces": ["lab"], "labelSelector": {"matchExpressions": [expression]}}
    )


def demands(
    counts: dict[str, int],
    spec: Callable[[str], Json] = tolerating,
    priorities: dict[str, int] | None = None,
) -> tuple[Demand, ...]:
    """Pending pods by namespace."""
    shapes, pods = ShapeInterner(), []
    for namespace, count in counts.items():
        for number in range(count):
            body = manifests.pod(f"p{number:03}", spec=spec(f"{namespace}-{number}"))
            body["metadata"]["namespace"] = namespace
            body["spec"]["priority"] = (priorities or {}).get(namespace, 0)
            pods.append(object_facts.pod(msgspec.json.encode(body), shapes))
    return observe(ClusterFacts(pods=pods), NOW).demands


def read(found: tuple[Demand, ...]) -> list[str]:
    return [one.example for one in found if not one.excess]


def test_pods_beyond_the_limit_of_all_are_named_and_not_read() -> None:
    found = demands({"crowd": 50})
    assert len(found) == 50
    assert len(read(found)) == pod_limits.MAX_RULES_OF_ALL // (LARGE + 2 - pod_limits.FREE_OF_COST)
    shapes = {one.shape for one in found if one.excess and one.excess.of_all}
    assert shapes == {UNREAD}


def test_namespaces_use_the_limit_of_all_in_turn() -> None:
    found = read(demands({"crowd": 50, "small": 2, "web": 1}))
    assert [one for one in found if "crowd" not in one] == ["small/p000", "small/p001", "web/p000"]


def test_pods_of_the_highest_priority_use_the_limit_first() -> None:
    names = [f"a{number}" for number in range(40)]
    found = read(demands({"web": 3, **dict.fromkeys(names, 1)}, priorities={"web": 9}))
    assert {"web/p000", "web/p001", "web/p002"} < {*found}
    assert len(found) < 40


@pytest.mark.parametrize(("spec", "rules"), [(on_hosts, 4), (beside, 3 + pod_limits.COST_ABROAD)])
def test_values_of_expressions_count(spec: Callable[[str], Json], rules: int) -> None:
    values = pod_limits.MAX_VALUES // pod_limits.VALUES_PER_COST
    cost = rules + values - pod_limits.FREE_OF_COST
    assert len(read(demands({"crowd": 50}, spec))) == pod_limits.MAX_RULES_OF_ALL // cost


def test_pods_with_few_rules_are_always_read() -> None:
    few = pod_limits.FREE_OF_COST - 2  # a request of CPU, and the slot of a pod
    assert len(read(demands({"crowd": 300}, partial(tolerating, count=few)))) == 300
    more = partial(tolerating, count=few + 1)
    assert len(read(demands({"crowd": 2100}, more))) == pod_limits.MAX_RULES_OF_ALL


def test_terms_about_all_namespaces_count_more() -> None:
    own, all_of_them = repelling, partial(repelling, namespaceSelector={})
    assert len(read(demands({"crowd": 50}, own))) == 50
    cost = (pod_limits.COST_ABROAD + 1) * pod_limits.MAX_FOREIGN_TERMS + 2 - pod_limits.FREE_OF_COST
    assert len(read(demands({"crowd": 50}, all_of_them))) == pod_limits.MAX_RULES_OF_ALL // cost
