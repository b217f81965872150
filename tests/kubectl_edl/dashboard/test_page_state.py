"""The page's JSON for a state of the cluster."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from edl import contract
from edl.model import Node, ObjectRef, Team
from edl.quantities import PODS, Resources
from edl.visibility.team_figures import TeamFigures
from kubectl_edl.cli.context import Scope
from kubectl_edl.dashboard import node_load
from kubectl_edl.dashboard.page_broadcast import PageBroadcast
from kubectl_edl.dashboard.page_state import MAX_JOBS, MAX_TEAMS, page, sample
from kubectl_edl.dashboard.watcher import DashboardWatcher
from kubectl_edl.top.cluster_costs import INSTANCE_TYPE, cluster_costs
from kubectl_edl.top.options import CostOptions
from tests.kubectl_edl.dashboard.served_page import namespace, read_once, trained
from tests.kubectl_edl.dashboard.test_watcher import script
from tests.kubectl_edl.stage import NOW, Stage, job

if TYPE_CHECKING:
    from edl.model import ClusterState
    from tests.kubectl_edl.stage import Stage

SECOND = int(NOW.timestamp())


def node(name: str, cpu: int, used: int, **more: int) -> Node:
    room = Resources.of({"cpu": cpu * 1000, "memory": 2**30, PODS: 110, **more})
    return Node(name, room, Resources.of({"cpu": used * 1000, PODS: used}), Resources())


def test_the_cluster_is_summed_up() -> None:
    found = page(read_once(trained()), ())
    assert found["cluster"]["loads"][0] == {
        "name": "cpu",
        "title": "CPU",
        "share": 25,
        "used": "12",
        "offered": "48",
    }
    assert (found["cluster"]["running"], found["cluster"]["queued"]) == (1, 0)
    assert found["cluster"]["deciding"].startswith("policy fair")
    assert found["hints"] == []


def test_a_job_shows_the_role_that_does_the_work() -> None:
    (row,) = page(read_once(trained()), ())["jobs"]["rows"]
    shown = {name: row[name] for name in ("name", "phase", "role", "size", "running", "min", "max")}
    assert shown == {
        "name": "mnist",
        "phase": "Running",
        "role": "worker",
        "size": 4,
        "running": 3,
        "min": 1,
        "max": 12,
    }
    assert row["message"] == "idle capacity: 4 of 12 fit"
    assert row["imaginable"]


def test_sizes_over_time_come_from_the_history() -> None:
    stage = trained()
    told = [
        f"{NOW - timedelta(minutes=9):%Y-%m-%dT%H:%M:%SZ} Started 0 2 room",
        f"{NOW - timedelta(minutes=6):%Y-%m-%dT%H:%M:%SZ} ScaledUp 2 6 idle capacity",
        f"{NOW - timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ} PodsRemoved 6 5 named",
        f"{NOW - timedelta(minutes=3):%Y-%m-%dT%H:%M:%SZ} Suspended 5 0 paused",
        f"{NOW - timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ} Resumed 0 4 room",
    ]
    notes = {contract.HISTORY: "\n".join(told)}
    stage.patch("mnist-worker", {"metadata": {"annotations": notes}})
    (row,) = page(read_once(stage), ())["jobs"]["rows"]
    assert row["line"] == [
        [SECOND - 540, 2],
        [SECOND - 360, 6],
        [SECOND - 300, 5],
        [SECOND - 180, 0],
        [SECOND - 60, 4],
    ]


def test_the_end_of_a_job_is_not_one_of_its_sizes() -> None:
    stage = trained()
    ended = {
        "type": "Complete",
        "status": "True",
        "lastTransitionTime": f"{NOW - timedelta(minutes=2):%Y-%m-%dT%H:%M:%SZ}",
    }
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"status": {"conditions": [ended]}})
    (row,) = page(read_once(stage), ())["jobs"]["rows"]
    assert row["ended"] == SECOND - 120
    assert row["line"]
    assert all(size for _, size in row["line"])


def test_a_job_that_remembers_nothing_has_had_its_size_since_its_start() -> None:
    (row,) = page(read_once(trained()), ())["jobs"]["rows"]
    assert [size for _, size in row["line"]] == [4]


def test_a_queued_job_has_requests_jobs_ahead_and_estimate() -> None:
    stage = trained()
    for name in ("first", "second"):
        stage.put(job(name, framework="none", min="22", max="22"))
        stage.patch(name, {"spec": {"parallelism": 22}})
    rows = page(read_once(stage), ())["queue"]["rows"]
    assert [(row["name"], row["position"], row["ahead"]) for row in rows] == [
        ("first", 1, []),
        ("second", 2, ["default/first"]),
    ]
    assert rows[0]["asks"] == "44 CPU, 22 pods"
    assert rows[0]["starts"].startswith("unknown: default/mnist has no known end")
    assert rows[0]["message"]


def test_only_the_namespace_is_shown_but_all_of_the_nodes() -> None:
    stage = trained()
    namespace(stage, "other")
    found = page(read_once(stage, Scope(namespace="other")), ())
    assert found["jobs"]["rows"] == []
    assert found["nodes"]["all"] == 3
    assert [load["share"] for load in found["nodes"]["rows"][0]["loads"]] == [62, 0]


def test_without_the_right_to_read_the_cluster_the_jobs_are_shown() -> None:
    narrow = replace(read_once(trained()), state=None, deciding=None, hints=("hint: not all",))
    found = page(narrow, ())
    assert [row["name"] for row in found["jobs"]["rows"]] == ["mnist"]
    assert not found["nodes"]["known"]
    assert found["cluster"]["loads"] == []
    assert found["hints"] == ["not all"]


def test_lists_of_the_page_are_bounded_with_totals() -> None:
    one = read_once(trained())
    many = replace(one, jobs=tuple(replace(one.jobs[0]) for _ in range(MAX_JOBS + 50)))
    found = page(many, ())["jobs"]
    assert (len(found["rows"]), found["all"]) == (MAX_JOBS, MAX_JOBS + 50)


def test_samples_are_in_seconds_and_percent() -> None:
    taken = sample(read_once(trained()))
    assert taken == {"at": SECOND, "shares": {"CPU": 25, "Memory": 0}, "running": 1, "queued": 0}
    assert page(read_once(trained()), [taken])["cluster"]["samples"] == [taken]


def test_nodes_are_counted_by_how_full_they_are() -> None:
    nodes = [node(f"n{used}", 100, used) for used in (0, 24, 25, 74, 75, 94, 95, 110)]
    assert [step["nodes"] for step in node_load.spread(nodes)] == [2, 1, 1, 2, 2]


LARGE = node("b", 12, 6)


@pytest.mark.parametrize("away", [replace(LARGE, ready=False), replace(LARGE, cordoned=True)])
def test_the_load_of_the_cluster_is_that_of_nodes_that_take_pods(away: Node) -> None:
    nodes = [node("a", 4, 1), away]
    assert [step["nodes"] for step in node_load.spread(nodes)] == [0, 1, 0, 0, 0]
    cpu = node_load.totals(nodes)[0]
    assert (cpu["used"], cpu["offered"], cpu["share"]) == ("1", "4", 25)


def test_of_the_resources_cpu_memory_and_devices_are_shown() -> None:
    plain, gpu = node("a", 4, 1), node("b", 4, 2, **{"nvidia.com/gpu": 8, "ephemeral-storage": 9})
    assert node_load.names([plain, gpu]) == ("cpu", "memory", "nvidia.com/gpu")
    assert [one["title"] for one in node_load.totals([plain, gpu])] == ["CPU", "Memory", "gpu"]
    # A node without the device has none of it to fill.
    assert node_load.each([plain, gpu])[0]["loads"][2]["share"] == 0


def test_an_unready_node_is_listed() -> None:
    lost = replace(node("b", 12, 8), ready=False)
    assert [one["status"] for one in node_load.each([node("a", 4, 1), lost])] == [
        "Ready",
        "NotReady",
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("cpu", 12500, "12.5"),
        ("cpu", 6_400_000, "6400"),
        ("memory", 3 * 2**29, "1.5 GiB"),
        ("memory", 25_600 * 2**30, "25600 GiB"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_amounts_are_figures_that_people_read(name: str, value: int, text: str) -> None:
    assert node_load.amount(name, value) == text


def test_of_many_nodes_the_first_are_listed_by_name() -> None:
    nodes = [node(f"n{number:04}", 4, 1) for number in reversed(range(node_load.MAX_NODES + 5))]
    assert [one["name"] for one in node_load.each(nodes)][:2] == ["n0000", "n0001"]
    assert len(node_load.each(nodes)) == node_load.MAX_NODES


TEAMS = """\
teams:
- {name: lab, guaranteed: {cpu: 40}}
- {name: vision, parent: lab, namespaces: [default], guaranteed: {cpu: 6}}
- {name: speech, parent: lab, guaranteed: {cpu: 30}}
"""


def with_teams() -> Stage:
    """3 nodes with 48 CPU; pods in the namespace default use 12, and the team has 6."""
    stage = trained()
    place = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
    stage.cluster.create(place, {"data": {contract.TEAMS_KEY: TEAMS}})
    return stage


def test_teams_are_rows_of_a_tree() -> None:
    stage = with_teams()
    stage.put(job("waits", framework="none", min="22", max="22"))
    found = page(read_once(stage), ())
    assert found["teams"]["all"] == 4
    default, lab, speech, vision = found["teams"]["rows"]
    assert [(row["name"], row["level"]) for row in (default, lab, speech, vision)] == [
        *(("default", 0), ("lab", 0), ("speech", 1), ("vision", 1)),
    ]
    assert vision == {
        "name": "vision",
        "level": 1,
        "guaranteed": "6 CPU",
        "used": "12 CPU",
        "borrowed": "6 CPU",
        "lent": "",
        "waiting": 1,
        "bars": [
            {
                "resource": "cpu",
                "text": "12 of 6 CPU, 6 borrowed",
                "within": 50.0,
                "borrowed": 50.0,
                "lent": 0.0,
            }
        ],
    }
    assert (speech["lent"], speech["bars"][0]["lent"]) == ("2 CPU", 6.7)
    assert (lab["borrowed"], lab["waiting"]) == ("", 1)
    (row,) = found["queue"]["rows"]
    assert (row["team"], row["placeInTeam"]) == ("vision", 1)


def test_teams_of_the_page_are_those_of_the_command() -> None:
    stage = with_teams()
    rows = page(read_once(stage, Scope(namespace="other")), ())["teams"]["rows"]
    found = json.loads(stage.run("teams", "-o", "json").out)["items"]
    assert [row["name"] for row in rows] == [one["metadata"]["name"] for one in found]
    for column in ("guaranteed", "used", "borrowed", "lent"):
        ours = [Resources.parse(one[column]) for one in found]
        assert [row[column] for row in rows] == [str(one) if one else "" for one in ours]
    assert [row["waiting"] for row in rows] == [one["queuedTrainingJobs"] for one in found]


def test_without_teams_there_are_none() -> None:
    assert page(read_once(trained()), ())["teams"] == {"all": 0, "rows": []}


def test_of_many_teams_the_upper_levels_are_shown() -> None:
    low = [TeamFigures(Team(f"l{one}"), 1, Resources(), Resources(), 0) for one in range(MAX_TEAMS)]
    top = TeamFigures(Team("top"), 0, Resources(), Resources(), 0)
    found = page(replace(read_once(trained()), teams=(*low, top)), ())["teams"]
    assert found["all"] == MAX_TEAMS + 1
    assert [row["name"] for row in found["rows"]][-2:] == [f"l{MAX_TEAMS - 2}", "top"]


def test_costs_of_the_page_are_those_of_the_command() -> None:
    stage = trained()
    prices = {f"type-{number}": 8.0 for number in (1, 2)}
    for number in (1, 2, 3):
        labels = {"metadata": {"labels": {INSTANCE_TYPE: f"type-{number}"}}}
        stage.patch(f"node-{number}", labels, "Node")
    asked = CostOptions(prices, serial=0.1)
    found = page(read_once(stage, Scope(namespace="other")), (), asked)["costs"]
    given = [f"--price={name}={price}" for name, price in prices.items()]
    run = stage.run("top", "cluster", "--serial", "0.1", *given)
    text = "{total} ({minimums} by minimums, {extras} by extras, {others} by others, {idle} idle)"
    nodes, cost = (text.format_map(row) for row in found["rows"])
    assert f"Nodes by use: {nodes}\n" in run.out
    assert f"Cost per hour: {cost}\n" in run.out
    assert found["rows"][0]["parts"] == [16.7, 8.3, 0.0, 75.0], (
        "12 of 48 CPU, 8 of them by minimums"
    )
    (hours,) = found["hours"]
    assert f"Resource-hours: {hours}\n" in run.out
    assert "of fixed maximum sizes: a cost of" in hours
    assert f"hint: {found['note']}\n" in run.err


def whole(stage: Stage) -> ClusterState:
    found = read_once(stage).state
    assert found is not None
    return found


def test_resource_hours_are_cached() -> None:
    stage, moments = trained(), iter([0.0, 19.0, 21.0])
    watcher = DashboardWatcher(script(), PageBroadcast(), lambda: next(moments))
    first = watcher.costs(whole(stage), CostOptions())
    stage.patch("node-1", {"metadata": {"labels": {INSTANCE_TYPE: "large"}}}, "Node")
    asked = CostOptions({"large": 8.0}, serial=0.1)
    second, third = watcher.costs(whole(stage), asked), watcher.costs(whole(stage), asked)
    assert second.nodes.hourly is not None
    assert second.hours == first.hours
    assert third == cluster_costs(whole(stage), asked)
    assert third.hours != first.hours, "the part of its work that does not divide is known now"


def test_without_prices_the_page_mentions_price() -> None:
    found = page(read_once(trained()), ())["costs"]
    assert [row["title"] for row in found["rows"]] == ["Node-hours"]
    assert "--price" in found["note"]


def test_without_cluster_rights_costs_are_unknown() -> None:
    narrow = replace(read_once(trained()), state=None, deciding=None)
    assert page(narrow, ())["costs"] is None
    assert page(narrow, ())["hints"] == []
    assert page(narrow, (), CostOptions({"large": 8.0}))["hints"] == [
        "--price shows no costs: they need the nodes and pods of the whole cluster"
    ]
