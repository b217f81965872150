import pytest

from edl.model import Reclaim
from edl.writes import Json
from tests.edl.convert.queues.queue_samples import (
    GPU,
    amounts,
    cluster_queue,
    converted,
    dropped,
    errors,
    kai,
    notes,
    team,
    teams,
)


def bounds(quota: object = 0, limit: object = -1, **more: object) -> Json:
    return {"quota": quota, "limit": limit, **more}


def test_a_queue_is_a_team_with_thousandths_of_cpus_and_millions_of_bytes() -> None:
    resources = {"cpu": bounds(1500), "gpu": bounds(4), "memory": bounds(4096)}
    found = teams(kai("lab"), kai("vision", "lab", resources=resources))
    assert found["vision"].parent == "lab"
    assert found["vision"].guaranteed == amounts(cpu="1500m", gpu=4, memory="4096M")
    assert (found["vision"].limit, found["vision"].reclaim) == ((), Reclaim.JOBS)


def test_a_limit_counts_all_and_without_one_nothing_goes_beyond_the_quota() -> None:
    resources = {"gpu": bounds(4, 6), "cpu": {"quota": 2000}, "memory": {}}
    found = team("a", kai("a", resources=resources))
    assert dict(found.limit) == {GPU: 6, "cpu": 2000, "memory": 0}


def test_a_quota_without_a_bound_is_named_and_limits_nothing() -> None:
    queue = kai("a", resources={"gpu": bounds(-1), "cpu": {"quota": -1}, "memory": bounds(-1, 5)})
    assert dropped(converted(queue)) == [
        "spec.resources.gpu.quota",
        "spec.resources.cpu.quota",
        "spec.resources.memory.quota",
    ]
    found = team("a", queue)
    assert (found.guaranteed, found.limit) == (amounts(), (("memory", 5_000_000),))


def test_a_limit_below_the_quota_is_named() -> None:
    queue = kai("a", resources={"gpu": bounds(4, 2)})
    assert dropped(converted(queue)) == ["spec.resources.gpu.limit"]
    assert team("a", queue).limit == ((GPU, 4),)


def test_parts_of_gpus_are_rounded_down_and_named() -> None:
    queue = kai("a", resources={"gpu": bounds(2.5)})
    assert team("a", queue).guaranteed == amounts(gpu=2)
    assert dropped(converted(queue)) == ["spec.resources.gpu.quota"]


def test_a_parent_is_guaranteed_the_sum_of_its_children_where_its_quota_is_lower() -> None:
    top = kai("top", resources={"gpu": bounds(2), "cpu": bounds(0), "memory": bounds(9)})
    low = [
        kai(name, "top", resources={"gpu": bounds(2), "cpu": bounds(1000)}) for name in ("a", "b")
    ]
    assert dropped(converted(top, *low)) == ["spec.resources.gpu.quota"]
    assert teams(top, *low).guaranteed["top"] == amounts(gpu=4, cpu=2, memory="9M")


def test_a_parents_limit_below_its_childrens_guarantees_is_named() -> None:
    top = kai("top", resources={"gpu": {"quota": 1, "limit": 3}})
    low = [kai(name, "top", resources={"gpu": bounds(2)}) for name in ("a", "b")]
    assert dropped(converted(top, *low)) == [
        "spec.resources.gpu.quota",
        "spec.resources.gpu.limit",
    ]
    assert team("top", top, *low).limit == ()


def test_the_weight_of_gpus_is_the_teams_and_others_are_named() -> None:
    resources = {
        "cpu": bounds(overQuotaWeight=1),
        "gpu": bounds(overQuotaWeight=3),
        "memory": bounds(overQuotaWeight=3),
    }
    queue = kai("a", resources=resources)
    assert team("a", queue).weight == 3
    assert dropped(converted(queue)) == ["spec.resources.cpu.overQuotaWeight"]


def test_what_has_no_counterpart_is_named_with_its_path() -> None:
    weights = {"gpu": bounds(overQuotaWeight=0)}
    queue = kai(
        "a", priority=200, preemptMinRuntime="5m", reclaimMinRuntime="1m", resources=weights
    )
    assert dropped(converted(queue)) == [
        "spec.priority",
        "spec.preemptMinRuntime",
        "spec.reclaimMinRuntime",
        "spec.resources.gpu.overQuotaWeight",
    ]
    assert dropped(converted(kai("a", priority=100))) == []


def test_namespaces_are_asked_for_where_pods_name_their_queue() -> None:
    found = notes(converted(kai("top"), kai("a", "top", displayName="A")))
    assert found == [
        "spec.displayName: left out: a team is known by its name",
        (
            "metadata: no namespace belongs to the team: KAI's pods name their queue; "
            "run kubectl edl teams set a --namespace NAMESPACE"
        ),
    ]


def test_they_are_asked_for_by_the_name_of_the_team() -> None:
    (found,) = [one for one in notes(converted(kai("ml.vision"))) if "no namespace" in one]
    assert found.endswith("run kubectl edl teams set ml-vision --namespace NAMESPACE")


HOSTILE: list[tuple[list[Json], str]] = [
    (
        [kai("a", "b"), kai("b", "c"), kai("c", "a")],
        "spec.parentQueue: a circle: a → b → c → a; leave one of them out",
    ),
    (
        [kai("a", "b")],
        'spec.parentQueue: no Queue is named "b"; convert it together with its parent',
    ),
    ([kai("a"), kai("a")], "metadata: Queue a is listed twice; keep one of them"),
    (
        [cluster_queue("a"), kai("a")],
        'metadata: the team "a" is ClusterQueue a already; give one of them another name',
    ),
    (
        [kai("a", resources={"gpu": bounds(float("nan"))})],
        "spec.resources.gpu.quota: nan; a number from 0, or -1 for no bound",
    ),
    (
        [kai("a", resources={"gpu": bounds(1e300)})],
        "spec.resources.gpu.quota: 1e+300; a number from 0, or -1 for no bound",
    ),
    (
        [kai("a", resources={"gpu": bounds("four")})],
        'spec.resources.gpu.quota: "four"; a number from 0, or -1 for no bound',
    ),
    (
        [kai("a", resources={"gpu": bounds(1, -2)})],
        "spec.resources.gpu.limit: -2; a number from 0, or -1 for no bound",
    ),
    (
        [kai("a", resources={"memory": bounds(2**59)})],
        'as edl-teams: team a.guaranteed[memory]: "500000Ei"; from 0 to 1Ei',
    ),
    ([kai("a", resources=[1])], "spec.resources: a list; an object"),
]


@pytest.mark.parametrize(("documents", "said"), HOSTILE, ids=[said[:40] for _, said in HOSTILE])
def test_what_cannot_be_a_team_is_an_error_with_its_path(documents: list[Json], said: str) -> None:
    found = converted(*documents)
    assert found.manifest is None
    assert errors(found) == [said]
