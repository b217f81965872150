from pathlib import Path

import pytest
import yaml

from edl.convert import convert
from edl.model import Reclaim, Requirement, Team
from edl.parsing.team_config_map import teams_of
from edl.parsing.team_document import MAX_TEAMS
from edl.writes import Json
from tests.edl.convert.queues.queue_samples import (
    GPU,
    amounts,
    cluster_queue,
    converted,
    dropped,
    errors,
    group,
    kueue,
    local_queue,
    notes,
    quota,
    team,
    teams,
)

EXAMPLES = Path(__file__).parents[4] / "examples" / "convert" / "queues"


@pytest.mark.parametrize("name", ["kueue", "kai"])
def test_the_teams_of_an_example_are_read_by_our_own_parser(name: str) -> None:
    document = yaml.safe_load((EXAMPLES / f"{name}.teams.yaml").read_text())
    found = teams_of(document["data"])
    assert {one.name for one in found} == {"default", "research", "vision", "speech"}
    assert found["vision"].parent == "research"


def test_a_cluster_queue_in_a_cohort_is_a_team_below_it() -> None:
    queue = cluster_queue("vision", "research", quota("cpu", "1500m"), quota(GPU, 32))
    found = teams(queue)
    assert found["research"] == Team("research")
    assert found["vision"].parent == "research"
    assert found["vision"].guaranteed == amounts(cpu="1500m", gpu=32)
    assert found["vision"].limit == ()
    assert found["vision"].lend


def test_fields_of_v1beta1_mean_the_same() -> None:
    groups = [group(quota("memory", "36Gi"))]
    queue = kueue("ClusterQueue", "vision", "v1beta1", cohort="research", resourceGroups=groups)
    cohort = kueue("Cohort", "research", "v1beta1", parentName="lab")
    found = teams(queue, cohort)
    assert (found["vision"].parent, found["research"].parent) == ("research", "lab")
    assert found["vision"].guaranteed == amounts(memory="36Gi")


def test_memory_is_written_in_the_largest_unit_that_divides_it() -> None:
    queue = cluster_queue("vision", "all", quota("memory", "100Gi", borrowingLimit="10Gi"))
    manifest = converted(queue).manifest
    assert manifest is not None
    (vision,) = [
        one for one in yaml.safe_load(manifest["data"]["teams.yaml"])["teams"] if "limit" in one
    ]
    assert vision["guaranteed"] == {"memory": "100Gi"}
    assert vision["limit"] == {"memory": "110Gi"}


def test_what_may_be_borrowed_comes_on_top_of_the_guarantee_as_the_limit() -> None:
    quotas = (quota(GPU, 32, borrowingLimit=16), quota("cpu", 400), quota("memory", 0))
    found = team("vision", cluster_queue("vision", "all", *quotas))
    assert found.limit == ((GPU, 48),)


def test_a_borrowing_limit_of_0_is_a_limit_at_the_guarantee() -> None:
    found = team("vision", cluster_queue("vision", "all", quota(GPU, 0, borrowingLimit=0)))
    assert (found.guaranteed, found.limit) == (amounts(), ((GPU, 0),))


def test_a_lending_limit_of_0_lends_nothing_and_one_of_everything_all() -> None:
    kept = cluster_queue("kept", "all", quota(GPU, 8, lendingLimit=0), quota("cpu", 0))
    lent = cluster_queue("lent", "all", quota(GPU, 8, lendingLimit="8"))
    found = converted(kept, lent)
    assert dropped(found) == []
    assert [one.lend for one in teams(kept, lent) if one.parent] == [False, True]


def test_a_part_that_is_lent_and_a_mixture_are_named() -> None:
    part = cluster_queue("part", "all", quota(GPU, 8, lendingLimit=3))
    mixed = cluster_queue("mixed", "all", quota(GPU, 8, lendingLimit=0), quota("cpu", 4))
    assert dropped(converted(part)) == [
        "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit"
    ]
    assert dropped(converted(mixed)) == [
        "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit"
    ]
    assert team("part", part).lend
    assert team("mixed", mixed).lend


def test_a_cluster_queue_without_a_cohort_neither_borrows_nor_lends() -> None:
    queue = cluster_queue("alone", "", quota(GPU, 4), quota("cpu", 0))
    found = team("alone", queue)
    assert (found.limit, found.lend) == ((("cpu", 0), (GPU, 4)), False)
    assert notes(converted(queue, local_queue("ml", "alone"))) == [
        (
            "spec: without a cohort it neither borrows nor lends: limit and lend say so; "
            "remove them where the team may share"
        )
    ]


def test_a_cohorts_own_quota_comes_on_top_of_what_its_members_have() -> None:
    pool = kueue("Cohort", "all", parentName="lab", resourceGroups=[group(quota(GPU, 8))])
    members = (cluster_queue(name, "all", quota(GPU, 4), quota("cpu", 1)) for name in ("a", "b"))
    found = teams(pool, *members)
    assert found["all"].guaranteed == amounts(gpu=16)
    assert found.guaranteed["lab"] == amounts(gpu=16, cpu=2)


def test_a_cohorts_borrowing_limit_counts_from_what_all_its_members_have() -> None:
    limited = [group(quota(GPU, 2, borrowingLimit=1, lendingLimit=0))]
    pool = kueue("Cohort", "all", parentName="lab", resourceGroups=limited)
    found = team("all", pool, cluster_queue("a", "all", quota(GPU, 4)))
    assert (found.limit, found.lend) == (((GPU, 7),), False)


@pytest.mark.parametrize(("said", "reclaim"), [("Any", "jobs"), ("Never", "replicas")])
def test_reclaim_within_the_cohort(said: str, reclaim: str) -> None:
    queue = cluster_queue("a", preemption={"reclaimWithinCohort": said})
    assert team("a", queue).reclaim == Reclaim(reclaim)
    assert dropped(converted(queue)) == []


def test_a_reclaim_by_priority_takes_replicas_and_says_so() -> None:
    queue = cluster_queue("a", preemption={"reclaimWithinCohort": "LowerPriority"})
    assert team("a", queue).reclaim is Reclaim.REPLICAS
    assert dropped(converted(queue)) == ["spec.preemption.reclaimWithinCohort"]


@pytest.mark.parametrize(
    ("said", "weight"), [("0.75", 0.75), (3, 3.0), ("250m", 0.25), ("0.0001", 0.001)]
)
def test_a_fair_share_is_a_weight(said: object, weight: float) -> None:
    queue = cluster_queue("a", fairSharing={"weight": said})
    cohort = kueue("Cohort", "all", fairSharing={"weight": said})
    found = teams(queue, cohort)
    assert (found["a"].weight, found["all"].weight) == (weight, weight)


def test_a_weight_of_0_is_named() -> None:
    queue = cluster_queue("a", fairSharing={"weight": "0"})
    assert dropped(converted(queue)) == ["spec.fairSharing.weight"]
    assert team("a", queue).weight == 1


def test_namespaces_of_local_queues_come_before_the_selector() -> None:
    queue = cluster_queue("a", namespaceSelector={"matchLabels": {"x": "y"}})
    found = team("a", queue, local_queue("two", "a"), local_queue("one", "a"))
    assert (found.namespaces, found.selector) == (("one", "two"), ())


def test_a_selector_alone_is_the_teams() -> None:
    expressions = [{"key": "tier", "operator": "Exists"}]
    selector = {"matchLabels": {"team": "a"}, "matchExpressions": expressions}
    found = team("a", cluster_queue("a", namespaceSelector=selector))
    assert found.selector == (
        Requirement("team", "In", ("a",)),
        Requirement("tier", "Exists", ()),
    )


def test_a_selector_by_names_names_them_and_an_empty_one_means_all() -> None:
    names = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["b", "a"]}
    named = cluster_queue("a", namespaceSelector={"matchExpressions": [names]})
    assert team("a", named).namespaces == ("a", "b")
    assert team("a", cluster_queue("a", namespaceSelector={})).namespaces == ("*",)
    assert team("a", cluster_queue("a")).namespaces == ()


def test_a_label_with_null_selects_the_empty_value_as_the_api_server_reads_it() -> None:
    expression = {"key": "tier", "operator": "In", "values": ["a"]}
    selector = {"matchLabels": {"tier": None}, "matchExpressions": [expression]}
    found = team("a", cluster_queue("a", namespaceSelector=selector))
    assert found.selector == tuple(Requirement("tier", "In", (text,)) for text in ("", "a"))


def test_namespaces_that_two_queues_select_go_to_the_first_and_are_named() -> None:
    both = [cluster_queue(name, namespaceSelector={}) for name in ("a", "b")]
    assert [one.namespaces for one in teams(*both) if one.parent] == [("*",), ()]
    assert dropped(converted(*both)) == ["spec.namespaceSelector"]
    label = {"matchLabels": {"team": "a"}}
    alike = [cluster_queue(name, namespaceSelector=label) for name in ("a", "b")]
    assert dropped(converted(*alike)) == ["spec.namespaceSelector"]


def test_a_namespace_with_two_queues_is_of_the_first_and_the_others_are_named() -> None:
    queues = [cluster_queue(name) for name in ("a", "b")]
    found = converted(*queues, local_queue("one", "a"), local_queue("one", "b"))
    (remark,) = found.reports[3].dropped
    assert str(remark) == (
        "spec.clusterQueue: one uses the ClusterQueue a, too; "
        "a namespace has one team: move its jobs to a namespace of their own"
    )


def test_a_local_queue_without_its_cluster_queue_is_named() -> None:
    found = converted(cluster_queue("a"), local_queue("one", "b"))
    assert dropped(found) == ["spec.clusterQueue"]


def test_amounts_of_several_flavors_are_added_and_each_further_flavor_is_named() -> None:
    spot = {"name": "spot", "resources": [quota(GPU, 4, borrowingLimit=1)]}
    usual = {"name": "usual", "resources": [quota(GPU, 8, borrowingLimit=2)]}
    groups = [{"coveredResources": [GPU], "flavors": [usual, spot]}]
    queue = kueue("ClusterQueue", "a", cohortName="all", resourceGroups=groups)
    found = team("a", queue)
    assert (found.guaranteed, found.limit) == (amounts(gpu=12), ((GPU, 15),))
    assert dropped(converted(queue)) == ["spec.resourceGroups[0].flavors[1].name"]


def test_a_flavor_without_a_borrowing_limit_has_no_limit_for_all() -> None:
    flavors = [
        {"name": "usual", "resources": [quota(GPU, 8, borrowingLimit=2)]},
        {"name": "spot", "resources": [quota(GPU, 4)]},
    ]
    groups = [{"coveredResources": [GPU], "flavors": flavors}]
    queue = kueue("ClusterQueue", "a", cohortName="all", resourceGroups=groups)
    assert team("a", queue).limit == ()
    assert dropped(converted(queue)) == [
        "spec.resourceGroups[0].flavors[1].name",
        "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit",
    ]


def test_what_has_no_counterpart_is_named_with_its_path() -> None:
    queue = cluster_queue(
        "a",
        "all",
        quota("example", 3),
        queueingStrategy="StrictFIFO",
        stopPolicy="HoldAndDrain",
        admissionChecks=["prov"],
        admissionChecksStrategy={"admissionChecks": [{"name": "prov"}]},
        admissionScope={"admissionMode": "UsageBasedAdmissionFairSharing"},
        concurrentAdmissionPolicy={"migration": {"mode": "RetainFirstAdmission"}},
        preemption={
            "withinClusterQueue": "LowerPriority",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 1},
        },
        unheardOf=1,
    )
    local = local_queue("one", "a", stopPolicy="Hold", fairSharing={"weight": 2})
    flavor = kueue(
        "ResourceFlavor", "any", nodeLabels={"a": "b"}, tolerations=[{}], topologyName="x"
    )
    assert dropped(converted(queue, local, flavor)) == [
        "spec.resourceGroups[0].flavors[0].resources[0].name",
        "spec.queueingStrategy",
        "spec.stopPolicy",
        "spec.admissionChecks",
        "spec.admissionChecksStrategy",
        "spec.admissionScope",
        "spec.concurrentAdmissionPolicy",
        "spec.preemption.withinClusterQueue",
        "spec.preemption.borrowWithinCohort.policy",
        "spec.preemption.borrowWithinCohort.maxPriorityThreshold",
        "spec.unheardOf",
        "spec.stopPolicy",
        "spec.fairSharing",
        "spec.nodeLabels",
        "spec.tolerations",
        "spec.topologyName",
    ]


def test_what_the_api_server_fills_in_loses_nothing() -> None:
    queue = cluster_queue(
        "a",
        "all",
        quota(GPU, 1),
        queueingStrategy="BestEffortFIFO",
        stopPolicy="None",
        flavorFungibility={"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        preemption={
            "reclaimWithinCohort": "Never",
            "withinClusterQueue": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        },
    )
    assert dropped(converted(queue, kueue("ResourceFlavor", "any"))) == []


def test_cohorts_and_queues_of_one_name_and_names_of_ours_get_names_of_their_own() -> None:
    queues = (cluster_queue("vision", "vision"), cluster_queue("default", "a.b"))
    found = {one.name: one.parent for one in teams(*queues) if one.name != "default"}
    assert found == {
        "vision": "vision-cohort",
        "vision-cohort": "",
        "default-queue": "a-b",
        "a-b": "",
    }
    assert 'metadata: the team is named "default-queue"' in notes(converted(*queues))


def test_cohorts_beside_each_other_are_named() -> None:
    found = converted(kueue("Cohort", "a"), kueue("Cohort", "b"), cluster_queue("q", "a"))
    assert [len(report.notes) for report in found.reports] == [1, 1, 0]


def test_a_cohort_of_an_older_kueue_is_read() -> None:
    older = kueue("Cohort", "a", "v1alpha1", parent="b", resourceGroups=[group(quota(GPU, 8))])
    found = teams(older, cluster_queue("q", "a"))
    assert (found["a"].parent, found["a"].guaranteed) == ("b", amounts(gpu=8))


def test_a_guarantee_without_namespaces_is_noted() -> None:
    queue = cluster_queue("q", "all", quota(GPU, 4))
    assert notes(converted(queue)) == [
        (
            "metadata: no namespace belongs to the team: no LocalQueue and no namespaceSelector "
            "names one; run kubectl edl teams set q --namespace NAMESPACE"
        )
    ]
    assert notes(converted(queue, local_queue("ml", "q"))) == []
    assert notes(converted(cluster_queue("q", "all", quota(GPU, 4), namespaceSelector={}))) == []


def test_an_unknown_version_is_left_and_named() -> None:
    document = kueue("Cohort", "a", "v1alpha7", parent="b")
    found = convert(document)
    assert found is not None
    assert found.manifests == (document,)
    assert str(found.dropped[0]) == (
        "apiVersion: unknown version v1alpha7: left as it is; known: "
        "kueue.x-k8s.io/v1alpha1, kueue.x-k8s.io/v1beta1, kueue.x-k8s.io/v1beta2"
    )


HOSTILE: list[tuple[list[Json], str]] = [
    (
        [kueue("Cohort", "a", parentName="b"), kueue("Cohort", "b", parentName="a")],
        "spec.parentName: a circle: a → b → a; leave one of them out",
    ),
    (
        [kueue("Cohort", "a", parentName="a")],
        "spec.parentName: a circle: a → a; leave one of them out",
    ),
    (
        [cluster_queue("a"), cluster_queue("a")],
        "metadata: ClusterQueue a is listed twice; keep one of them",
    ),
    (
        [cluster_queue("a.b"), cluster_queue("a-b")],
        'metadata: the team "a-b" is ClusterQueue a.b already; give one of them another name',
    ),
    (
        [cluster_queue("a", "all", quota(GPU, 10**40))],
        (
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: "
            "a number beyond all quantities; a quantity from 0 to 1Ei, such as 8, 500m or 64Gi"
        ),
    ),
    (
        [cluster_queue("a", "all", quota(GPU, "-1"))],
        (
            'spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: "-1"; '
            "a quantity from 0 to 1Ei, such as 8, 500m or 64Gi"
        ),
    ),
    (
        [cluster_queue("a", "all", quota(GPU, "2500m"))],
        (
            'spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: "2500m"; '
            "a whole number of nvidia.com/gpu"
        ),
    ),
    (
        [cluster_queue("a", "all", quota(GPU, 0, nominalQuota=True))],
        (
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: True; "
            "a quantity from 0 to 1Ei, such as 8, 500m or 64Gi"
        ),
    ),
    (
        [cluster_queue("a", fairSharing={"weight": "1e9"})],
        'spec.fairSharing.weight: "1e9"; a number from 0 to 999999, such as 2 or 0.5',
    ),
    (
        [cluster_queue("a", preemption={"reclaimWithinCohort": "All"})],
        'spec.preemption.reclaimWithinCohort: "All"; Never, LowerPriority or Any',
    ),
    (
        [kueue("ClusterQueue", "a", cohortName=["all"])],
        "spec.cohortName: a list; a text",
    ),
    (
        [cluster_queue("a", namespaceSelector={"matchLabels": {"a": 1}})],
        "spec.namespaceSelector.matchLabels.a: 1 is not a text; it must be a text",
    ),
    (
        [cluster_queue("a", namespaceSelector={"matchNames": ["a"]})],
        'spec.namespaceSelector: unknown field "matchNames"; matchLabels, matchExpressions',
    ),
    (
        [
            cluster_queue(
                "a", namespaceSelector={"matchExpressions": [{"key": "a", "operator": "="}]}
            )
        ],
        (
            "as edl-teams: team a.namespaces.matchExpressions[0].operator: "
            '"="; one of In, NotIn, Exists, DoesNotExist'
        ),
    ),
    (
        [
            cluster_queue(
                "a", namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "*"}}
            )
        ],
        (
            "as edl-teams: team a.namespaces.matchLabels[kubernetes.io/metadata.name]: "
            '"*"; a label\'s value'
        ),
    ),
    (
        [cluster_queue("a"), local_queue("team-*", "a")],
        'metadata.namespace: "team-*"; a name of a-z, 0-9 and -, at most 63 characters',
    ),
    (
        [cluster_queue("A")],
        'as edl-teams: team A.name: "A"; a name of a-z, 0-9 and -, at most 63 characters',
    ),
    (
        [cluster_queue("")],
        "metadata: has no name; set metadata.name, as it is in the cluster",
    ),
]


@pytest.mark.parametrize(("documents", "said"), HOSTILE, ids=[said[:40] for _, said in HOSTILE])
def test_what_cannot_be_a_team_is_an_error_with_its_path(documents: list[Json], said: str) -> None:
    found = converted(*documents)
    assert found.manifest is None
    assert errors(found) == [said]


def test_more_queues_than_there_may_be_teams_are_an_error() -> None:
    queues = [kueue("Cohort", f"c{number}", parentName="all") for number in range(MAX_TEAMS)]
    assert errors(converted(*queues)) == [
        "with it there are 2001 queues and cohorts; at most 2000 become teams"
    ]


def test_what_the_api_server_wrote_is_left_out_and_noted() -> None:
    queue = cluster_queue("a")
    queue["metadata"] |= {"uid": "1", "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    queue["status"] = {"pendingWorkloads": 3}
    found = converted(queue)
    assert dropped(found) == []
    assert notes(found) == [
        "left out status: describes the old object",
        "metadata: left out uid, finalizers: teams have no counterpart",
    ]


def test_more_levels_than_teams_have_are_an_error() -> None:
    chain = [kueue("Cohort", f"c{place}", parentName=f"c{place + 1}") for place in range(40)]
    found = converted(*chain)
    assert found.manifest is None
    assert any("at most 32 levels" in one for one in errors(found))
