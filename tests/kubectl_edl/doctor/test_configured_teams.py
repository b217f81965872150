"""Checks of the document of teams."""

from edl import contract
from edl.model import ObjectRef
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import Stage, node


def teams(stage: Stage, text: str) -> None:
    where = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
    stage.cluster.create(where, {"data": {contract.TEAMS_KEY: text}})


def test_a_cluster_without_teams_passes(stage: Stage) -> None:
    assert only(stage, "teams") == ("ok", "no teams are configured", "")


def test_an_empty_list_of_teams_passes(stage: Stage) -> None:
    """Deleting the last team leaves one."""
    teams(stage, "teams: []")
    stage.cluster.create(ObjectRef("Namespace", "", "vision"), {})
    assert only(stage, "teams") == ("ok", "no teams are configured", "")


def test_a_document_of_teams_that_is_not_read_is_a_failure_with_each_finding(stage: Stage) -> None:
    teams(stage, "teams: [{name: Vision, weight: 0}]")
    found = checked(stage)["teams"]
    assert [one["result"] for one in found] == ["failure", "failure"]
    assert found[0]["message"].startswith(
        "ConfigMap edl-system/edl-teams is not in effect, the teams before it are: "
        "data[teams.yaml]: teams[0].name: "
    )
    assert found[0]["remediation"] == "kubectl edit configmap edl-teams -n edl-system"


def test_guarantees_above_the_capacity_are_a_warning(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    stage.create(node("node-2", cpu="16"))
    guaranteed = "{{name: {0}, guaranteed: {{cpu: {1}}}, namespaces: [{0}]}}".format
    for name in ("a", "b"):
        stage.cluster.create(ObjectRef("Namespace", "", name), {})
    teams(stage, f"teams: [{guaranteed('a', 30)}, {guaranteed('b', 10)}]")
    result, message, _ = only(stage, "teams")
    assert (result, message) == (
        "warning",
        "teams are guaranteed 40 CPU, and the nodes have 32 CPU",
    )


def test_a_namespace_claimed_by_two_teams_is_a_warning(stage: Stage) -> None:
    stage.cluster.create(ObjectRef("Namespace", "", "vision-dev"), {})
    teams(stage, "teams: [{name: a, namespaces: [vision-*]}, {name: b, namespaces: ['*-dev']}]")
    result, message, _ = only(stage, "teams")
    assert (result, message) == (
        "warning",
        "namespace vision-dev is claimed by a and b: it belongs to a",
    )


def test_a_guarantee_without_a_namespace_is_a_warning(stage: Stage) -> None:
    """The namespace of `lost` was deleted; `taken` loses its only one to the exact name of `b`."""
    stage.create(node("node-1", cpu="16"))
    stage.cluster.create(ObjectRef("Namespace", "", "vision-dev"), {})
    teams(
        stage,
        """teams:
        - {name: lost, namespaces: [gone], guaranteed: {cpu: 1}}
        - {name: taken, namespaces: [vision-*], guaranteed: {cpu: 1}}
        - {name: parent, guaranteed: {cpu: 1}}
        - {name: b, parent: parent, namespaces: [vision-dev], guaranteed: {cpu: 1}}
        - {name: idle, namespaces: [none-yet]}""",
    )
    found = checked(stage)["teams"]
    assert [one["message"].partition(" has a guarantee and no namespace")[0] for one in found] == [
        *("team lost", "team taken"),
    ]
    assert found[0]["remediation"] == (
        "correct its namespaces: kubectl edit configmap edl-teams -n edl-system"
    )


def test_teams_in_the_namespace_of_an_earlier_installation_are_a_warning(stage: Stage) -> None:
    behind = ObjectRef("ConfigMap", "edl-old", contract.TEAMS_CONFIG_MAP)
    stage.cluster.create(behind, {"data": {}})
    result, message, fix = only(stage, "teams")
    assert (result, message) == (
        "warning",
        (
            "no teams are configured: the ConfigMap edl-old/edl-teams has no effect, as "
            "kubectl-edl is installed in edl-system"
        ),
    )
    assert fix.startswith("kubectl get configmap edl-teams -n edl-old -o yaml; copy its data into")


def test_teams_that_are_in_order_are_counted(stage: Stage) -> None:
    teams(stage, "teams: [{name: a}, {name: b}]")
    assert only(stage, "teams") == ("ok", "2 teams are configured", "")
