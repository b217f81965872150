"""Queued gangs ask a real API server for their nodes by ProvisioningRequests."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dev.installation import Installation, install
from edl import contract
from edl.model import Code
from edl.writes import Json
from sandbox import NodeGroup, temporary_sandbox
from tests.integration.support.provisioning_requests import DEFINITION, told
from tests.integration.support.stage import Stage, elastic, role_jobs, stage

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

OPTIONS = ("--provisioner=provisioning-request", "--provisioning-timeout=120")


@pytest.fixture(scope="module")
def autoscaled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A cluster without nodes that serves ProvisioningRequests; each test is its autoscaler."""
    with temporary_sandbox("capacity-requests") as sandbox:
        sandbox.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(DEFINITION))
        named = f"crd/{DEFINITION['metadata']['name']}"
        sandbox.kubectl("wait", "--for=condition=Established", named, "--timeout=60s")
        yield install(sandbox, tmp_path_factory.mktemp("installation"), ("reconciler",), *OPTIONS)


@pytest.fixture
def at(autoscaled: Installation) -> Iterator[Stage]:
    """A fresh namespace; its nodes are gone when the next test begins."""
    with stage(autoscaled.cluster) as made:
        made.within = 180.0
        yield made
        for kind in ("Job", "Pod"):
            made.delete_all(kind)
        made.kubectl("delete", "nodes", "--all")


def the_request(at: Stage) -> Json:
    at.until(lambda: len(at.all("ProvisioningRequest")) == 1, "it asks for nodes")
    (found,) = at.all("ProvisioningRequest")
    return found


def leaves_nothing(at: Stage) -> None:
    at.until(
        lambda: not (at.all("ProvisioningRequest") or at.all("PodTemplate")),
        "nothing is left of what it asked with",
    )


def reason(at: Stage, job: str) -> Any:  # noqa: ANN401 - JSON
    return at.job(job)["metadata"].get("annotations", {}).get(contract.REASON)


def consumed(pods: list[Json]) -> set[Any]:
    return {pod["metadata"].get("annotations", {}).get(contract.CONSUMES_REQUEST) for pod in pods}


def test_a_gang_starts_on_the_nodes_of_its_request(at: Stage, autoscaled: Installation) -> None:
    """A role that kube-scheduler places: its pod template names the request."""
    labels = {"framework": "tensorflow", "min": "4", "max": "4"}
    at.apply(elastic("gang", cpu="3900m", labels=labels, parallelism=4))
    request = the_request(at)
    assert [one["count"] for one in request["spec"]["podSets"]] == [4]
    at.until(lambda: reason(at, "gang") == Code.WAITING_FOR_NODES, "it waits for nodes")
    told(at, request["metadata"]["name"], "Provisioned", "its nodes are made")
    autoscaled.cluster.add_nodes(NodeGroup(count=2, cpu="8", memory="32Gi"))
    at.until_runs("gang", 4)
    assert consumed(at.pods("gang")) == {request["metadata"]["name"]}
    leaves_nothing(at)


def test_pods_that_the_plan_places_name_their_request(at: Stage, autoscaled: Installation) -> None:
    at.apply(*role_jobs("tensorflow", "train", "chief=1,worker=3", cpu="3900m", worker=3))
    request = the_request(at)
    assert sorted(one["count"] for one in request["spec"]["podSets"]) == [1, 3]
    told(at, request["metadata"]["name"], "Provisioned", "its nodes are made")
    autoscaled.cluster.add_nodes(NodeGroup(count=2, cpu="8", memory="32Gi"))
    at.until_runs("train-worker", 3)
    at.until_runs("train-chief", 1)
    pods = [*at.pods("train-worker"), *at.pods("train-chief")]
    assert consumed(pods) == {request["metadata"]["name"]}
    leaves_nothing(at)


def test_a_request_that_fails_goes_with_its_templates(at: Stage) -> None:
    labels = {"framework": "tensorflow", "min": "4", "max": "4"}
    at.apply(elastic("gang", cpu="3900m", labels=labels, parallelism=4))
    told(at, the_request(at)["metadata"]["name"], "Failed", "no such nodes in the zone")
    at.until(lambda: reason(at, "gang") == Code.NODES_NOT_PROVISIONED, "its nodes do not come")
    assert "no such nodes in the zone" in at.message("gang")
    leaves_nothing(at)
