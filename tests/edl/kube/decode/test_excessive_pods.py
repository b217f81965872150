"""Pods of other owners with more rules than plans follow: any user may create them."""

import msgspec
import pytest

from edl.contract import pod_limits
from edl.contract.pod_limits import PodCount
from edl.kube.decode import object_facts
from edl.kube.decode.object_facts import PodFacts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.observe import ClusterFacts, observe
from edl.model import Demand, Shape
from edl.quantities import Resources
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.state.test_observe import NOW
from tests.edl.large_pods import KINDS, Kind

CPU = {"name": "main", "resources": {"requests": {"cpu": "2"}}}


def facts(spec: Json, **metadata: object) -> PodFacts:
    whole: Json = {"containers": []} | spec
    body = manifests.pod("p", spec=whole | {"containers": [CPU, *whole["containers"]]})
    body["metadata"] |= metadata
    return object_facts.pod(msgspec.json.encode(body), ShapeInterner())


def demand(found: PodFacts) -> Demand:
    (one,) = observe(ClusterFacts(pods=[found]), NOW).demands
    return one


@pytest.mark.parametrize("kind", KINDS)
def test_a_pending_pod_with_more_than_a_limit_is_named_and_not_read(kind: Kind) -> None:
    beyond = kind.most + pod_limits.ADDED
    found = demand(facts(kind.spec(2 * beyond)))
    assert found.excess is not None
    assert found.excess[:2] == (kind.path, kind.name)
    assert (found.example, found.shape) == ("web/p", Shape(Resources()))
    assert facts(kind.spec(beyond - 2)).excess is None


def test_a_bound_pod_with_more_than_a_limit_counts_with_its_requests_alone() -> None:
    many = {"tolerations": [{"operator": "Exists"}] * 999, "nodeSelector": {"zone": "a"}}
    port = {"name": "c", "ports": [{"containerPort": 1}]}
    ports = {"containers": [port], "initContainers": [port | {"restartPolicy": "Always"}]}
    found = facts(many | ports | {"hostNetwork": True, "nodeName": "n1"})
    assert found.holds_room
    assert found.shape == Shape(Resources.of({"cpu": 2000, "pods": 1}))


def test_labels_of_a_pod_with_too_many_match_no_selector() -> None:
    few, many = ({str(n): "" for n in range(count)} for count in (9, 999))
    assert len(facts({}, labels=few).labels) == len(few)
    assert facts({}, labels=many).labels == ()
    excess = facts({}, labels=many).excess
    assert excess == PodCount("metadata.labels", "labels", 999, pod_limits.MAX_LABELS)


def test_of_too_many_volume_claims_the_first_are_looked_up() -> None:
    kind = next(kind for kind in KINDS if kind.path == "spec.volumes")
    assert len(facts(kind.spec(999)).claims) == pod_limits.MAX_VOLUMES + pod_limits.ADDED


def test_a_pod_may_have_more_init_containers_than_two_bytes_count() -> None:
    inits = {"initContainers": [{"name": "i"}] * 70_000}
    assert facts(inits).shape.requests.get("cpu") == 2000
