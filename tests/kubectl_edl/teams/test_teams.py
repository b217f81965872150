"""`kubectl edl teams`: figures of teams, and atomic changes."""

import json

import pytest
import yaml

from edl import contract
from edl.errors import NotFound
from edl.model import ObjectRef
from tests import devices
from tests.kubectl_edl.cluster_wrappers import fenced, hidden, overtaken, refusing
from tests.kubectl_edl.stage import Stage, job, node, pod

PLACE = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
TEXT = """\
teams:
# the institute
- name: research
  guaranteed: {cpu: 12, memory: 3Ti}
- name: vision
  parent: research
  namespaces: [default]
  guaranteed: {cpu: 8}
"""


def put(stage: Stage, text: str = TEXT) -> None:
    stage.cluster.create(PLACE, {"data": {contract.TEAMS_KEY: text}})


def document(stage: Stage) -> str:
    try:
        return str(stage.cluster.get(PLACE)["data"][contract.TEAMS_KEY])
    except NotFound:
        return ""


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.create(node("node-1", cpu="16"))
    for name in ("default", "other"):
        stage.cluster.create(ObjectRef("Namespace", "", name), {})
    return stage


def test_a_stored_document_that_is_not_in_effect_is_named(stage: Stage) -> None:
    put(stage)
    assert stage.run("teams").err == ""
    stage.cluster.patch(PLACE, {"data": {contract.TEAMS_KEY: "teams: nonsense"}})
    said = stage.run("teams").err.splitlines()[0]
    assert said.startswith("hint: ConfigMap edl-system/edl-teams is not in effect, and ")
    assert said.endswith("; all findings: kubectl edl doctor")


def test_amounts_are_written_as_set_takes_them(stage: Stage) -> None:
    given = "sharedgpu/gpu_request=1500m"
    assert stage.run("teams", "set", "vision", "--guaranteed", given, "-y").code == 0
    _, *rows = [line.split() for line in stage.run("teams").out.splitlines()]
    shown = next(row[2] for row in rows if row[0] == "vision")
    assert stage.run("teams", "set", "vision", "--guaranteed", shown, "-y").code == 0
    assert shown.startswith("sharedgpu/gpu_request=")


def test_without_an_installation_the_error_names_the_install_command(stage: Stage) -> None:
    stage.wrapped = refusing("ConfigMap", NotFound('namespaces "edl-system" not found', 404))
    found = stage.run("teams", "set", "vision", "--guaranteed", "cpu=1", "-y")
    assert found.code == 1
    assert found.err == (
        'error: kubectl-edl is not installed here: namespaces "edl-system" not found; '
        "kubectl edl install --image IMAGE\n"
    )


def test_teams_are_shown_as_a_tree(stage: Stage) -> None:
    put(stage)
    running = stage.put(job("runs", framework="none", min="1", max="1"), suspend=False)
    stage.create(pod(running, 0))
    stage.put(job("waits", framework="none", min="50", max="50"))
    lines = [line.split() for line in stage.run("teams").out.splitlines()]
    assert lines[0] == [
        *("TEAM", "NAMESPACES", "GUARANTEED", "USED", "BORROWED", "LENT", "QUEUED"),
    ]
    assert lines[1:] == [
        ["default", "1", "<none>", "<none>", "<none>", "<none>", "0"],
        ["research", "0", "cpu=12,memory=3Ti", "cpu=2", "<none>", "<none>", "1"],
        ["vision", "1", "cpu=8", "cpu=2", "<none>", "<none>", "1"],
    ]


def test_a_namespace_names_its_team(stage: Stage) -> None:
    put(stage)
    for namespace, team in (("default", "vision"), ("other", "default")):
        assert stage.run("teams", "-n", namespace, "-o", "name").out == f"team.edl.dev/{team}\n"


def test_a_namespace_that_does_not_exist_is_said_to(stage: Stage) -> None:
    put(stage)
    found = stage.run("teams", "-n", "nope")
    assert found.out.splitlines()[1].split()[0] == "default"
    assert found.err == "hint: namespace nope does not exist; it would belong to this team\n"
    assert stage.run("teams", "-n", "default").err == ""


def test_scripts_get_the_figures(stage: Stage) -> None:
    put(stage)
    found = json.loads(stage.run("teams", "-o", "json").out)
    assert found["kind"] == "TeamList"
    assert found["items"][2] == {
        "apiVersion": "edl.dev/v1alpha1",
        "kind": "Team",
        "metadata": {"name": "vision"},
        "parent": "research",
        "namespaces": 1,
        "guaranteed": {"cpu": "8000m"},
        "limit": {},
        "weight": 1.0,
        "lend": True,
        "reclaim": "replicas",
        "used": {},
        "borrowed": {},
        "lent": {},
        "share": 0.0,
        "queuedTrainingJobs": 0,
    }
    assert stage.run("teams", "-o", "name").out.splitlines()[2] == "team.edl.dev/vision"


def test_an_empty_list_of_teams_prints_a_message(stage: Stage) -> None:
    found = stage.run("teams")
    assert (found.code, found.out, found.err) == (0, "", "No teams are configured.\n")


def test_a_first_team_is_made_with_its_config_map(stage: Stage) -> None:
    stage.cluster.create(ObjectRef("Namespace", "", "vision-a"), {})
    found = stage.run(
        *("teams", "set", "vision", "--namespace", "vision-*", "--guaranteed", "cpu=8"),
        *("--limit", "cpu=12", "--weight", "2", "--no-lend", "--reclaim", "jobs"),
    )
    assert (found.code, found.out, found.err) == (0, "team vision written\n", "")
    assert document(stage) == (
        "teams:\n- name: vision\n  namespaces:\n  - vision-*\n  guaranteed:\n    cpu: 8\n"
        "  limit:\n    cpu: 12\n  weight: '2'\n  lend: false\n  reclaim: jobs\n"
    )


def test_a_created_config_map_has_the_last_applied_annotation(stage: Stage) -> None:
    """Without it kubectl apply warns, and keeps fields that were removed from the file."""
    assert stage.run("teams", "set", "vision", "--weight", "2").code == 0
    stored = stage.cluster.get(PLACE)
    applied = stored["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert json.loads(applied) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"annotations": {}, "name": PLACE.name, "namespace": PLACE.namespace},
        "data": stored["data"],
    }


def test_a_change_leaves_the_rest_and_its_comments(stage: Stage) -> None:
    put(stage)
    assert stage.run("teams", "set", "vision", "--weight", "2").out == "team vision written\n"
    assert document(stage).startswith("teams:\n# the institute\n- name: research\n")
    assert stage.run("teams", "set", "vision", "--weight", "2").out == "team vision unchanged\n"


def test_a_team_joins_a_list_on_one_line_and_its_comment_stays(stage: Stage) -> None:
    put(stage, "teams: [{name: a}]  # all\n")
    found = stage.run("teams", "set", "b", "--weight", "2")
    assert found.err == ""
    assert document(stage) == 'teams: [{name: a}, {name: b, weight: "2"}] # all\n'


def test_lost_comments_are_a_hint(stage: Stage) -> None:
    put(stage, "# none yet\n")
    found = stage.run("teams", "set", "b", "--weight", "2")
    assert found.err == "hint: 1 comment goes with what is changed: # none yet\n"


def test_a_comment_inside_braces_is_lost_and_named(stage: Stage) -> None:
    guaranteed = "{cpu: 10,  # until June\n    memory: 64Gi}  # ticket 12\n"
    put(stage, f"teams:\n- name: a\n  guaranteed: {guaranteed}")
    found = stage.run("teams", "set", "a", "--weight", "3")
    assert found.err == "hint: 1 comment goes with what is changed: # until June\n"
    assert "# ticket 12" in document(stage)


def test_invalid_changes_are_refused_before_a_write(stage: Stage) -> None:
    put(stage)
    found = stage.run("teams", "set", "vision", "--guaranteed", "cpu=13")
    assert found.code == 1
    assert "12 CPU, and the teams below it are guaranteed 13 CPU" in found.err
    assert document(stage) == TEXT
    assert stage.run("teams", "set", "vision", "--guaranteed", "cpu").code == 2
    found = stage.run("teams", "set", "vision", "--guaranteed", f"cpu={'9' * 5000}")
    assert (found.code, "guaranteed[cpu]" in found.err) == (1, True)


def test_all_that_is_wrong_with_a_change_is_reported_at_once(stage: Stage) -> None:
    put(stage)
    found = stage.run("teams", "set", "vision", "--guaranteed", "cpu=13", "--weight", "0")
    assert found.code == 1
    weight, amount = found.err.splitlines()
    assert ".weight: " in weight
    assert ".guaranteed[cpu]: 12 CPU, and the teams below it are guaranteed 13 CPU" in amount


@pytest.mark.parametrize("option", ["--guaranteed", "--limit"])
def test_a_resource_with_two_amounts_is_refused(stage: Stage, option: str) -> None:
    put(stage)
    found = stage.run("teams", "set", "vision", option, "cpu=1,memory=4Gi,cpu=2", "-y")
    assert found.code == 2
    assert f"{option}: cpu is given more than once: keep one amount." in found.err
    assert document(stage) == TEXT


@pytest.mark.parametrize("option", ["--guaranteed", "--limit"])
def test_amounts_of_a_repeated_option_are_all_set(stage: Stage, option: str) -> None:
    put(stage)
    more = (option, "cpu=9", option, "memory=4Gi,nvidia.com/gpu=2")
    assert stage.run("teams", "set", "vision", *more, "-y").code == 0
    (vision,) = (one for one in yaml.safe_load(document(stage))["teams"] if one["name"] == "vision")
    assert vision[option.removeprefix("--")] == {"cpu": 9, "memory": "4Gi", "nvidia.com/gpu": 2}
    twice = stage.run("teams", "set", "vision", option, "cpu=1", option, "cpu=2", "-y")
    assert (twice.code, "cpu is given more than once" in twice.err) == (2, True)


@pytest.mark.parametrize("option", ["--guaranteed", "--limit"])
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nvidia.com/gpus", ": did you mean nvidia.com/gpu?"),
        ("nvidia/gpu", ": did you mean nvidia.com/gpu?"),
        ("example.com/fpga", ""),
    ],
)
def test_a_resource_that_no_node_has_and_no_other_team_names_is_warned_of(
    stage: Stage, option: str, name: str, meant: str
) -> None:
    put(stage)
    gpus = node("gpus")
    gpus["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    stage.create(gpus)
    change = ("teams", "set", "vision", option, f"cpu=9,{name}=8", "--yes")
    found = stage.run(*change)
    warning = f"warning: no node has {name}, and no other team names it{meant}\n"
    assert (found.code, found.err) == (0, warning)
    assert stage.run(*change, "--weight", "3").err == "", "it is known now"
    assert stage.run("teams", "set", "new", option, "cpu=1,nvidia.com/gpu=4").err == ""


def test_the_extended_resource_of_a_device_class_is_known(stage: Stage) -> None:
    put(stage)
    stage.create(node("gpus"))
    stage.create(devices.device_class(extended="example.com/gpu"))
    found = stage.run("teams", "set", "vision", "--guaranteed", "example.com/gpu=8", "--yes")
    assert (found.code, found.err) == (0, "")
    found = stage.run("teams", "set", "vision", "--guaranteed", "example.com/gpus=8", "--yes")
    assert ": did you mean example.com/gpu?" in found.err


def test_without_the_right_to_list_device_classes_resources_are_not_warned_of(
    stage: Stage,
) -> None:
    put(stage)
    stage.create(node("gpus"))
    stage.wrapped = fenced("DeviceClass")
    found = stage.run("teams", "set", "vision", "--guaranteed", "example.com/gpu=8", "--yes")
    assert (found.code, found.err) == (0, "")


def test_a_pattern_that_no_namespace_matches_is_a_hint(stage: Stage) -> None:
    put(stage, "teams: [{name: speech, namespaces: [later]}]")
    stage.cluster.create(ObjectRef("Namespace", "", "vision"), {})
    names = ("--namespace", "visin", "--namespace", "vis*")
    found = stage.run("teams", "set", "vision", *names, "--yes")
    assert (found.code, found.err) == (
        0,
        "hint: no namespace matches visin now: did you mean vision?\n",
    )
    assert stage.run("teams", "set", "vision", "--weight", "2").err == ""


def test_patterns_that_match_those_of_another_team_are_warned_of_once(stage: Stage) -> None:
    put(stage, "teams: [{name: vision, namespaces: ['ml-*']}]")
    stage.cluster.create(ObjectRef("Namespace", "", "ml-s-1"), {})
    found = stage.run("teams", "set", "speech", "--namespace", "ml-s-*", "--yes")
    assert found.code == 0
    assert found.err == (
        'warning: the teams "speech" and "vision" both claim namespaces that match "ml-s-*" and '
        '"ml-*": of these teams, each belongs to "speech", the first by name\n'
    )
    assert stage.run("teams", "set", "speech", "--weight", "2", "--yes").err == ""


def test_a_resource_is_warned_of_once_and_another_misspelling_is_not_suggested(
    stage: Stage,
) -> None:
    put(stage, "teams: [{name: vision}, {name: speech, limit: {nvidia.com/gpuss: 1}}]")
    gpus = node("gpus")
    gpus["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    stage.create(gpus)
    stage.wrapped = overtaken(2)
    found = stage.run("teams", "set", "vision", "--limit", "nvidia.com/gpus=8", "--yes")
    meant = "did you mean nvidia.com/gpu?"
    what = "warning: no node has nvidia.com/gpus, and no other team names it"
    assert (found.code, found.err) == (0, f"{what}: {meant}\n")


def test_guarantees_beyond_the_nodes_are_hinted_at_once_and_written(stage: Stage) -> None:
    put(stage, "teams: [{name: vision, guaranteed: {cpu: 10}}]")
    change = ("teams", "set", "speech", "--guaranteed")
    found = stage.run(*change, "cpu=7")
    hint = "hint: teams are guaranteed 17 CPU, and the nodes have 16 CPU\n"
    assert (found.code, found.out, found.err) == (0, "team speech written\n", hint)
    assert stage.run("teams", "set", "speech", "--weight", "2").err == ""
    assert stage.run(*change, "cpu=6", "--yes").err == ""
    stage.wrapped = fenced("Node")
    assert stage.run(*change, "cpu=99").err == ""


def test_without_the_right_to_list_nodes_resources_are_not_warned_of(stage: Stage) -> None:
    put(stage)
    stage.wrapped = fenced("Node")
    change = ("teams", "set", "vision", "--limit", "cpu=99,example.com/fpga=8", "--yes")
    assert stage.run(*change).err == ""


def test_reductions_need_confirmation(stage: Stage) -> None:
    put(stage)
    less = ("teams", "set", "vision", "--guaranteed", "cpu=4")
    refused = stage.run(*less)
    assert refused.code == 1
    assert "team vision is guaranteed less cpu. Continue? No terminal can answer" in refused.err
    stage.answers = "n\n"
    assert stage.run(*less).out == "team vision not changed\n"
    assert document(stage) == TEXT
    stage.answers = "y\n"
    assert stage.run(*less).out == "team vision written\n"
    assert stage.run("teams", "delete", "vision", "--yes").out == "team vision deleted\n"
    assert "vision" not in document(stage)


def test_the_last_team_leaves_an_empty_list_and_a_hint(stage: Stage) -> None:
    put(stage, "# of the lab\nteams:\n- name: vision\n  namespaces: [vision]\n")
    found = stage.run("teams", "delete", "vision", "--yes")
    assert (found.out, document(stage)) == ("team vision deleted\n", "# of the lab\nteams: []\n")
    assert found.err == (
        "hint: this is the last team: without it no namespace has a guarantee or a limit of a "
        "team; ConfigMap edl-system/edl-teams stays, with an empty list\n"
    )
    assert stage.run("teams").err == "No teams are configured.\n"


def test_a_team_with_children_cannot_be_deleted(stage: Stage) -> None:
    put(stage)
    found = stage.run("teams", "delete", "research", "--yes")
    assert found.code == 1
    assert "vision is below it" in found.err


@pytest.mark.parametrize("how", ["client", "server"])
@pytest.mark.parametrize("text", ["", TEXT])
def test_a_dry_run_writes_nothing(stage: Stage, how: str, text: str) -> None:
    if text:
        put(stage, text)
    found = stage.run("teams", "set", "vision", "--guaranteed", "cpu=1", "--dry-run", how)
    assert found.code == 0
    assert "dry run" in found.out
    assert document(stage) == text


@pytest.mark.parametrize(("how", "remark"), [("client", "dry run"), ("server", "server dry run")])
def test_a_dry_run_prints_what_would_be_written(stage: Stage, how: str, remark: str) -> None:
    put(stage)
    heavier = stage.run("teams", "set", "vision", "--weight", "2", "--dry-run", how)
    assert [line for line in heavier.out.splitlines() if line[0] in "+-t"] == [
        "--- stored configmap/edl-teams",
        "+++ new configmap/edl-teams",
        '+  weight: "2"',
        f"team vision written ({remark})",
    ]
    gone = stage.run("teams", "delete", "vision", "--dry-run", how).out.splitlines()
    assert [line for line in gone if line[0] == "-"][1:] == [
        f"-{line}" for line in TEXT.splitlines()[4:]
    ]
    assert gone[-1] == f"team vision deleted ({remark})"


def test_a_dry_run_of_no_change_says_so(stage: Stage) -> None:
    put(stage)
    found = stage.run("teams", "set", "vision", "--guaranteed", "cpu=8", "--dry-run", "client")
    assert found.out == "team vision unchanged (dry run)\n"


def test_a_change_of_others_meanwhile_is_not_lost(stage: Stage) -> None:
    put(stage)
    stage.wrapped = overtaken(2)
    assert stage.run("teams", "set", "vision", "--weight", "2").out == "team vision written\n"


def test_a_change_without_rights_says_that_no_role_for_users_suffices(stage: Stage) -> None:
    stage.wrapped = hidden("ConfigMap")
    assert stage.run("teams", "set", "vision", "--weight", "2", "--yes").err == (
        'error: "ann" may not get ConfigMap (kubectl auth can-i …); to change teams, ask for the '
        "right to patch it, too: edl-viewer and edl-editor do not have it\n"
    )


def test_a_missing_right_to_read_the_cluster_is_named(stage: Stage) -> None:
    put(stage)
    stage.wrapped = fenced("Node")
    found = stage.run("teams")
    assert found.code == 1
    assert "may not list Node" in found.err


def test_explain_shows_the_figures_of_the_team(stage: Stage) -> None:
    put(stage, "teams: [{name: vision, namespaces: [default], guaranteed: {cpu: 1}}]")
    running = stage.put(job("runs", framework="none", min="1", max="1"), suspend=False)
    stage.create(pod(running, 0))
    told = stage.run("explain", "runs").out
    assert "Team:        vision, guaranteed 1 CPU, uses 2 CPU, borrows 1 CPU\n" in told
    assert json.loads(stage.run("explain", "runs", "-o", "json").out)["team"] == "vision"


def test_explain_shows_borrowed_capacity_by_lending_team(stage: Stage) -> None:
    names = "{name: vision, namespaces: [default], guaranteed: {cpu: 1500m}}"
    put(stage, f"teams: [{names}, {{name: speech, guaranteed: {{cpu: 14300m}}}}]")
    running = stage.put(job("runs", framework="none", min="1", max="1"), suspend=False)
    stage.create(pod(running, 0))
    told = stage.run("explain", "runs").out
    assert "Guaranteed:  1.5 CPU\n" in told
    assert "Borrowed:    200m CPU that no team is guaranteed; 300m CPU from speech\n" in told
    assert json.loads(stage.run("explain", "runs", "-o", "json").out)["teamCapacity"] == {
        "guaranteed": {"cpu": "1500m"},
        "borrowed": [
            {"team": None, "amounts": {"cpu": "200m"}},
            {"team": "speech", "amounts": {"cpu": "300m"}},
        ],
    }


def test_explain_omits_borrowing_without_guarantees(
    stage: Stage,
) -> None:
    put(stage, "teams: [{name: vision, namespaces: [default]}]")
    running = stage.put(job("runs", framework="none", min="1", max="1"), suspend=False)
    stage.create(pod(running, 0))
    assert "Borrowed:" not in stage.run("explain", "runs").out
    assert json.loads(stage.run("explain", "runs", "-o", "json").out)["teamCapacity"] is None


def test_the_share_of_a_team_is_in_the_wide_tables(stage: Stage) -> None:
    put(stage, "teams: [{name: vision, namespaces: [default], guaranteed: {cpu: 1}, weight: 0.5}]")
    running = stage.put(job("runs", framework="none", min="1", max="1"), suspend=False)
    stage.create(pod(running, 0))
    stage.put(job("waits", framework="none", min="8", max="8"))
    vision = stage.run("teams", "-o", "wide").out.splitlines()[2]
    assert vision.split()[:9] == [
        *("vision", "1", "cpu=1", "cpu=2", "cpu=1", "<none>", "<none>", "0.5", "12.5%"),
    ]
    assert stage.run("queue", "-o", "wide").out.splitlines()[1].split()[3:5] == [
        "vision#1",
        "12.5%",
    ]
    (queued,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert (queued["team"], queued["positionInTeam"], queued["share"]) == ("vision", 1, 0.125)


def test_many_lenders_are_counted(stage: Stage) -> None:
    lenders = ", ".join(f"{{name: l{place}, guaranteed: {{cpu: 1600m}}}}" for place in range(10))
    put(stage, f"teams: [{{name: vision, namespaces: [default]}}, {lenders}]")
    running = stage.put(job("runs", framework="none", min="1", max="1"), suspend=False)
    stage.create(pod(running, 0))
    told = stage.run("explain", "runs").out
    assert "200m CPU from l7; 400m CPU from 2 more teams\n" in told


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        ("guaranteed: {cpu: 12}", 1),
        ("guaranteed: {cpu: 12}, reclaim: jobs", 0),
        ("guaranteed: {cpu: 6}", 0),
    ],
)
def test_explain_names_the_reclaim_setting_that_would_help(
    stage: Stage, fields: str, times: int
) -> None:
    put(stage, f"teams: [{{name: vision, namespaces: [default], {fields}}}]")
    lent = job("lent", framework="none", min="7", max="7")
    lent["metadata"]["namespace"] = "other"
    borrower = stage.put(lent, suspend=False, parallelism=7)
    for index in range(7):
        stage.create(pod(borrower, index))
    stage.put(job("owns", framework="none", min="4", max="4"))
    said = (
        "Reclaims:    only replicas above borrowers' minimum; whole jobs too, which makes room for "
        "it, with: kubectl edl teams set vision --reclaim jobs --context prod\n"
    )
    assert stage.run("explain", "owns", "--context", "prod").out.count(said) == times
