"""A pod may ask schedulers for so much of each kind, and not for more."""

import pytest

from edl.contract import pod_limits
from edl.contract.pod_limits import PodCount, excess
from edl.writes import Json
from tests.edl.large_pods import KINDS, Kind, anti_affinity


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_counted_up_to_its_limit(kind: Kind) -> None:
    more = 2 * kind.most  # even, for kinds whose entries count twice
    assert [*excess({}, kind.spec(kind.most))] == []
    assert [*excess({}, kind.spec(more))] == [PodCount(kind.path, kind.name, more, kind.most)]
    assert [*excess({}, kind.spec(more), added=kind.most)] == []


def test_labels_of_the_pod_are_counted() -> None:
    labels = {str(number): "" for number in range(pod_limits.MAX_LABELS + 1)}
    (found,) = excess(labels, {})
    assert (found.path, found.number) == ("metadata.labels", len(labels))


@pytest.mark.parametrize(
    "spec",
    [
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}] * 999},
        {
            "affinity": {
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}] * 999}
            }
        },
        {"containers": [{"ports": [{"containerPort": 1}] * 999}]},
        {"volumes": [{"emptyDir": {}}] * 999},
        {"tolerations": {}, "affinity": [], "containers": "x", "nodeSelector": 3},
        anti_affinity({"labelSelector": [], "namespaces": 3}),
    ],
)
def test_what_plans_do_not_read_is_not_counted(spec: Json) -> None:
    assert [*excess(None, spec)] == []


def test_in_the_network_of_the_host_each_port_is_one_of_the_host() -> None:
    ports = {"ports": [{"containerPort": 1}] * (pod_limits.MAX_PORTS + 1)}
    spec = {"initContainers": [ports], "hostNetwork": True}
    assert [one.kind for one in excess({}, spec)] == ["host ports"]
