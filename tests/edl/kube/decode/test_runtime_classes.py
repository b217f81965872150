"""What RuntimeClasses add to pods before there are any, and what they refuse."""

from typing import Any

import pytest

from edl.errors import Forbidden
from edl.kube.cluster import ListOptions, RawList
from edl.kube.state.incremental_state import read_state
from edl.model import QuotaCharge, Shape, Toleration
from edl.quantities import Resources
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.state.test_quota_usage import NOW, TEAM, only, quota, state_of
from tests.fake_cluster.cluster import FakeCluster
from tests.reasons import problem_of

TOLERATION = {"key": "gpu", "operator": "Exists"}


def runtime_class(name: str = "kata", **scheduling: Any) -> tuple[str, Json]:  # noqa: ANN401
    body = {"metadata": manifests.metadata(name), "handler": name}
    over = {"overhead": {"podFixed": {"cpu": "250m", "memory": "1Mi"}}}
    return "RuntimeClass", body | over | {"scheduling": scheduling}


def template(**spec: Any) -> tuple[str, Json]:  # noqa: ANN401
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    pod = {"runtimeClassName": "kata", "containers": [container]} | spec
    return "Job", manifests.member("worker", pod=pod)


def shape_of(*objects: tuple[str, Json]) -> Shape:
    (role,) = only(state_of(*objects)).roles
    return role.template.shape


def test_its_overhead_counts_for_pods_that_are_yet_to_be_made() -> None:
    assert shape_of(template(), runtime_class()).requests == Resources.of(
        {"cpu": 1250, "memory": 2**20, "pods": 1}
    )


def test_its_overhead_counts_in_quotas() -> None:
    job = only(state_of(template(), runtime_class(), quota({"requests.cpu": "9"})))
    assert job.roles[0].template.charges == (QuotaCharge(TEAM, "requests.cpu", 1250),)


def test_its_node_selector_and_tolerations_are_merged_with_the_templates_own() -> None:
    own = template(nodeSelector={"zone": "a", "pool": "blue"}, tolerations=[TOLERATION])
    other = TOLERATION | {"key": "kata"}
    merged = runtime_class(nodeSelector={"pool": "blue", "kata": "yes"},
                           tolerations=[TOLERATION, other])  # fmt: skip
    found = shape_of(own, merged)
    assert found.node_selector == (("kata", "yes"), ("pool", "blue"), ("zone", "a"))
    assert found.tolerations == (
        Toleration("gpu", "Exists", "", ""),
        Toleration("kata", "Exists", "", ""),
    )


@pytest.mark.parametrize(
    ("own", "classes", "says"),
    [
        (
            {},
            (),
            'RuntimeClass "kata" does not exist: create it, or recreate the Jobs with another',
        ),
        (
            {"nodeSelector": {"pool": "red"}},
            (runtime_class(nodeSelector={"pool": "blue"}),),
            'RuntimeClass "kata" refuses its pods: it sets nodeSelector pool=blue, and their',
        ),
        ({"overhead": {"cpu": "1"}}, (runtime_class(),), "the overhead in its pod template"),
        ({"overhead": {"cpu": "1"}, "runtimeClassName": None}, (), "the overhead in its pod"),
    ],
    ids=["missing", "another node selector", "another overhead", "overhead without a class"],
)
def test_a_template_that_no_runtime_class_lets_in_waits_with_the_reason(
    own: dict[str, Any], classes: tuple[tuple[str, Json], ...], says: str
) -> None:
    assert problem_of(only(state_of(template(**own), *classes))).startswith(says)


def test_the_same_overhead_in_the_template_counts_once() -> None:
    own = template(overhead={"cpu": "0.25", "memory": "1024Ki"})
    job = only(state_of(own, runtime_class()))
    assert problem_of(job) == ""
    assert job.roles[0].template.shape.requests.get("cpu") == 1250


def test_the_overhead_of_pods_of_others_counts_on_their_node() -> None:
    spec = {"overhead": {"cpu": "250m"}}
    pod = manifests.pod("a", node="n1", phase="Running", spec=spec)
    (node,) = state_of(("Node", manifests.node("n1")), ("Pod", pod)).nodes
    assert node.used.get("cpu") == 1250


class Unreadable(FakeCluster):
    """A cluster in which RuntimeClasses may not be listed."""

    def list(self, selection: ListOptions) -> RawList:
        if selection.kind == "RuntimeClass":
            raise Forbidden("may not list RuntimeClass", 403)
        return super().list(selection)


def test_a_reader_without_the_right_plans_by_the_template() -> None:
    cluster = Unreadable(lambda: NOW)
    kind, body = template()
    cluster.create(manifests.target(kind, body), body)
    missed: dict[str, Forbidden] = {}
    job = only(read_state(cluster, NOW, missed.__setitem__))
    assert (problem_of(job), [*missed]) == ("", ["RuntimeClass"])
    assert job.roles[0].template.shape.requests.get("cpu") == 1000
