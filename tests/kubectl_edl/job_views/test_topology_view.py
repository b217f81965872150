"""Topology domains in `explain`, `status`, `plan` and the dashboard."""

import json

import pytest

from edl import contract
from edl.writes import Json
from kubectl_edl.dashboard.page_state import page
from kubectl_edl.job_views import topology_view
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.dashboard.served_page import read_once
from tests.kubectl_edl.stage import Stage, job, node, pod, role_manifests

RACK = "example.com/rack"
CPU = 4
"""Of each node, two nodes a rack; a pod asks for 2."""


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    for rack in (1, 2):
        for name in "ab":
            stage.create(node(f"r{rack}-{name}", str(CPU), rack=f"r{rack}", block="b0"))
    return stage


def asking(manifest: Json, **topology: str) -> Json:
    """With `required=` and `preferred=`."""
    notes = {f"{contract.PREFIX}{kind}-topology": text for kind, text in topology.items()}
    manifest["metadata"].setdefault("annotations", {}).update(notes)
    return manifest


def runs(stage: Stage, on: str, most: str = "8", **topology: str) -> None:
    """A job of workers on these nodes, the name of each between spaces."""
    nodes = on.split()
    manifest = asking(job("mnist", framework="none", min="1", max=most), **topology)
    put = stage.put(manifest, suspend=False, parallelism=len(nodes))
    for index, name in enumerate(nodes):
        stage.create(pod(put, index, name))


def waits(stage: Stage, pods: int, **topology: str) -> None:
    manifest = asking(job("mnist", framework="none", min=str(pods), max=str(pods)), **topology)
    stage.put(manifest, parallelism=pods)


def document(stage: Stage, verb: str, *args: str) -> Json:
    found: Json = json.loads(stage.run(verb, *args, "-o", "json").out)
    return found


@pytest.mark.parametrize("verb", ["explain", "status"])
def test_the_domains_of_a_required_topology(stage: Stage, verb: str) -> None:
    runs(stage, "r1-a r1-b r1-b", required=RACK)
    assert (
        "ROLE     TOPOLOGY           RULE       DOMAINS\n"
        "worker   example.com/rack   required   r1 (3 pods)\n"
    ) in stage.run(verb, "mnist").out
    found = document(stage, verb, "mnist")["topology"]
    assert found["required"] == [{"role": None, "topologyKey": RACK}]
    assert found["domains"] == [{"role": "worker", "topologyKey": RACK, "value": "r1", "pods": 3}]


@pytest.mark.parametrize("verb", ["explain", "status"])
def test_the_domains_of_a_preferred_topology(stage: Stage, verb: str) -> None:
    runs(stage, "r1-a r1-b r2-b", preferred=f"example.com/block,{RACK}")
    assert (
        "ROLE     TOPOLOGY            RULE        DOMAINS\n"
        "worker   example.com/block   preferred   b0 (3 pods)\n"
        "worker   example.com/rack    preferred   r1 (2), r2 (1)\n"
    ) in stage.run(verb, "mnist").out
    assert document(stage, verb, "mnist")["topology"]["preferred"] == ["example.com/block", RACK]


@pytest.mark.parametrize("verb", ["explain", "status"])
def test_each_role_has_a_line(stage: Stage, verb: str) -> None:
    for manifest in role_manifests("mnist", "chief=1,worker=2"):
        put = stage.put(asking(manifest, required=f"worker={RACK}"), suspend=False)
        stage.create(pod(put, 0, "r2-a"))
    shown = stage.run(verb, "mnist").out
    assert "worker   example.com/rack   required   r2 (1 pod)\n" in shown
    assert "chief    example.com/rack" not in shown


@pytest.mark.parametrize("verb", ["explain", "status"])
def test_a_job_without_a_topology_shows_none(stage: Stage, verb: str) -> None:
    runs(stage, "r1-a")
    assert "TOPOLOGY" not in stage.run(verb, "mnist").out
    assert document(stage, verb, "mnist")["topology"] is None


def test_explain_names_the_nearest_domain_of_a_queued_job(stage: Stage) -> None:
    """Another job has a place in each rack."""
    other = stage.put(
        job("other", framework="none", min="2", max="2"), suspend=False, parallelism=2
    )
    for index, name in enumerate(("r1-a", "r2-a")):
        stage.create(pod(other, index, name))
    waits(stage, 4, required=RACK)
    text = "Nearest:     example.com/rack=r1: 3 of 4 pods fit\n"
    assert text in stage.run("explain", "mnist").out
    nearest = {
        "domains": [{"role": None, "topologyKey": RACK, "value": "r1"}],
        "schedulablePods": 3,
        "pods": 4,
        "neverFits": False,
    }
    assert document(stage, "explain", "mnist")["topology"]["nearest"] == nearest
    assert document(stage, "queue")["items"][0]["topology"] == {
        "required": [{"role": None, "topologyKey": RACK}],
        "preferred": [],
        "nearest": nearest,
    }


def test_explain_shows_how_many_pods_fit_in_the_largest_domain(stage: Stage) -> None:
    waits(stage, 5, required=RACK)
    text = "example.com/rack=r1: 4 of 5 pods would fit if no training job ran\n"
    assert text in stage.run("explain", "mnist").out
    assert document(stage, "explain", "mnist")["topology"]["nearest"]["neverFits"]


def test_a_job_in_a_full_domain_gets_that_reason(stage: Stage) -> None:
    runs(stage, "r1-a r1-b r1-a r1-b", required=RACK)
    shown = stage.run("explain", "mnist").out
    assert "on the 2 nodes that it may use in example.com/rack=r1\n" in shown
    (cause,) = document(stage, "explain", "mnist")["roles"][0]["scaleUp"]["blockers"]
    assert cause["domains"] == [{"topologyKey": RACK, "value": "r1", "role": None}]


def test_a_plan_shows_the_domains_of_a_start(stage: Stage) -> None:
    waits(stage, 3, required=RACK, preferred="example.com/block")
    assert (
        "NAME    ROLE     TOPOLOGY            RULE        DOMAINS\n"
        "mnist   worker   example.com/rack    required    r1 (3 pods)\n"
        "mnist   worker   example.com/block   preferred   b0 (3 pods)\n"
    ) in stage.run("plan").out
    (change,) = document(stage, "plan")["changes"]
    assert change["domains"][0] == {"role": "worker", "topologyKey": RACK, "value": "r1", "pods": 3}


def test_a_plan_shows_the_domains_of_growth(stage: Stage) -> None:
    """Those of the new pods."""
    runs(stage, "r2-a", most="3", required=RACK)
    shown = stage.run("plan", "-A").out
    assert "NAMESPACE   NAME    ROLE     TOPOLOGY           RULE       DOMAINS\n" in shown
    assert "default     mnist   worker   example.com/rack   required   r2 (2 pods)\n" in shown


def test_a_plan_without_topologies_shows_no_domains(stage: Stage) -> None:
    waits(stage, 3)
    assert "DOMAINS" not in stage.run("plan").out
    (change,) = document(stage, "plan")["changes"]
    assert change["domains"] == []


def test_the_dashboard_shows_the_domains_of_a_job(stage: Stage) -> None:
    runs(stage, "r1-a r1-b r2-a", required="example.com/block", preferred=RACK)
    (row,) = page(read_once(stage), ())["jobs"]["rows"]
    assert row["domains"] == [
        {"role": "worker", "label": "example.com/block", "required": True, "pods": "b0 (3 pods)"},
        {"role": "worker", "label": RACK, "required": False, "pods": "r1 (2), r2 (1)"},
    ]


def test_the_dashboard_shows_no_domains_of_other_jobs(stage: Stage) -> None:
    runs(stage, "r1-a")
    (row,) = page(read_once(stage), ())["jobs"]["rows"]
    assert row["domains"] == []


def test_what_if_respects_topologies(stage: Stage) -> None:
    """Two racks of 4 pods: one that asks for 5 starts with a node more in one of them."""
    waits(stage, 5, required=RACK)
    (found,) = document(stage, "simulate", "--live", "--add-nodes", "1", "--like", "r1-a")["items"]
    now, more = found["runs"]
    assert (now["startSeconds"], now["domains"]) == (None, [])
    assert more["domains"] == [{"role": "worker", "topologyKey": RACK, "value": "r1", "pods": 5}]


def test_without_the_right_to_read_nodes_the_domains_are_missing(stage: Stage) -> None:
    runs(stage, "r1-a", required=RACK)
    stage.wrapped = fenced("Node")
    found = stage.run("status", "mnist", "-o", "json")
    assert "hint: the domains of its topology are missing" in found.err
    assert json.loads(found.out)["topology"]["domains"] is None


def test_of_many_domains_the_rest_is_counted() -> None:
    many = [(f"r{number}", 2) for number in range(10)]
    assert topology_view.domains(many).endswith("r7 (2) and 2 more")
    assert topology_view.domains([("", 2), ("r1", 1)]) == "no such label (2), r1 (1)"
