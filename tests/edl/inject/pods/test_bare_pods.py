from edl import contract
from edl.writes import Json
from tests.edl.manifests import annotations, created, environment, labels, pod, pod_spec

ROLES = "chief=1,ps=1,worker=3"


def worker(**spec: object) -> Json:
    """Worker 2 of the bare training job `mnist`."""
    told = {"roles": ROLES, "rank": "2"}
    return pod("any-name", framework="tensorflow", job="mnist", annotations=told, spec=spec)


def test_a_bare_pod_has_the_host_name_of_its_rank() -> None:
    spec = pod_spec(created(worker()))
    assert (spec["hostname"], spec["subdomain"]) == ("mnist-worker-2", "mnist")


def test_its_index_is_written_out() -> None:
    found = environment(created(worker()))
    assert next(iter(found)) == contract.COMPLETION_INDEX_ENV
    assert found[contract.COMPLETION_INDEX_ENV] == "2"
    assert '"mnist-worker-2.mnist.lab.svc:2222"' in found[contract.TF_CONFIG_ENV]


def test_an_own_host_name_stays() -> None:
    assert pod_spec(created(worker(hostname="mine")))["hostname"] == "mine"


def test_it_is_neither_queued_nor_marked() -> None:
    found = created(worker())
    assert "suspend" not in found["spec"]
    assert set(annotations(found)) == {contract.ROLES, contract.RANK}
    assert labels(found)[contract.ROLE] == "worker"


def test_a_pod_made_again_under_its_name_is_the_same() -> None:
    once = created(worker())
    assert created(once) == once


def owned(api_version: str) -> Json:
    made = worker()
    owner = {"apiVersion": api_version, "kind": "Job", "name": "mnist", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def test_a_jobs_pod_was_completed_with_its_template() -> None:
    made = owned("batch/v1")
    assert created(made) is made


def test_a_pod_owned_by_a_job_of_another_api_group_is_bare() -> None:
    made = owned("batch.volcano.sh/v1alpha1")
    assert pod_spec(created(made)) == pod_spec(created(worker()))


def test_without_a_framework_a_bare_pod_only_gets_its_labels() -> None:
    given = pod("solo", framework="none")
    found = created(given)
    assert found["spec"] == given["spec"]
    assert labels(found)[contract.JOB] == "solo"


def test_a_pod_cannot_be_suspended_and_is_not_paused() -> None:
    """The API server drops the field; a file that is injected offline may have it."""
    once = created(pod("mnist", framework="none", job="mnist", spec={"suspend": True}))
    assert created(once) == once
    assert contract.PAUSED not in annotations(once)
