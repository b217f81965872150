import pytest

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import Malformed
from edl.writes import Json
from tests.edl.convert.documents import admitted, jobs, only, paths, replica


def pytorchjob(workers: int = 2, master: Json | None = None, **spec: object) -> Json:
    specs = {"Master": master} if master else {}
    if workers:
        specs["Worker"] = replica("pytorch", workers)
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "net"},
        "spec": {"pytorchReplicaSpecs": specs} | spec,
    }


def env(job: Json) -> dict[str, str]:
    container = job["spec"]["template"]["spec"]["containers"][0]
    return {entry["name"]: entry["value"] for entry in container.get("env", ())}


def test_master_and_workers_are_one_job_whose_index_is_the_rank() -> None:
    found = jobs(pytorchjob(2, replica("pytorch")))
    job = only(found)
    assert job["metadata"]["name"] == "net"
    assert job["spec"]["parallelism"] == 3
    assert env(job) == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_ADDR": "net-0",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "3",
        "RANK": "$(JOB_COMPLETION_INDEX)",
    }
    assert found.dropped == ()


def test_the_master_decides() -> None:
    job = admitted(only(jobs(pytorchjob(2, replica("pytorch")))))
    assert job["spec"]["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}
    assert job["spec"]["completions"] == 3


def test_the_index_is_known_before_the_rank() -> None:
    job = admitted(only(jobs(pytorchjob(1, replica("pytorch")))))
    names = [entry["name"] for entry in job["spec"]["template"]["spec"]["containers"][0]["env"]]
    assert names.index("JOB_COMPLETION_INDEX") < names.index("RANK")


def test_what_only_the_masters_template_says_is_lost_and_named() -> None:
    master = replica("pytorch", restartPolicy="Never")
    master["template"]["spec"]["containers"][0] |= {"args": ["--lead"], "image": "other"}
    master["template"]["spec"]["nodeSelector"] = {"fast": "yes"}
    found = jobs(pytorchjob(1, master))
    at = "spec.pytorchReplicaSpecs.Master"
    assert paths(found) == [
        f"{at}.template.spec.containers[0].image",
        f"{at}.template.spec.containers[0].args",
        f"{at}.template.spec.nodeSelector",
        f"{at}.restartPolicy",
    ]
    container = only(found)["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], "args" in container) == ("train", False)


def at_port(number: int | None, **fields: object) -> Json:
    """A replica whose container names this port."""
    found = replica("pytorch")
    ports = [{"name": "http", "containerPort": 80}]
    named = {"name": "pytorchjob-port", "containerPort": number} | fields
    container = found["template"]["spec"]["containers"][0]
    container["ports"] = [named, *ports] if number else ports
    return found


def both(master: Json, worker: Json, **spec: object) -> Json:
    document = pytorchjob(0, master, **spec)
    document["spec"]["pytorchReplicaSpecs"]["Worker"] = worker
    return document


@pytest.mark.parametrize(
    ("master", "worker", "port"),
    [
        (24456, None, "24456"),
        (24456, 23456, "24456"),
        (None, 24456, "24456"),
        (None, None, "23456"),
    ],
)
def test_the_master_is_asked_first_where_it_listens(
    master: int | None, worker: int | None, port: str
) -> None:
    found = jobs(both(at_port(master), at_port(worker)))
    assert env(only(found))["MASTER_PORT"] == port
    assert found.dropped == ()


def test_a_port_on_the_master_alone_keeps_master_and_workers_in_one_job() -> None:
    ports = [{"name": "pytorchjob-port", "containerPort": 24456, "protocol": "TCP"}]
    master = replica("pytorch")
    master["template"]["spec"]["containers"][0]["ports"] = ports
    found = jobs(both(master, replica("pytorch", 2)))
    assert env(only(found))["MASTER_PORT"] == "24456"
    assert found.dropped == ()


def test_what_else_the_masters_port_says_is_a_difference() -> None:
    found = jobs(both(at_port(24456, hostPort=24456), at_port(24456)))
    at = "spec.pytorchReplicaSpecs.Master.template.spec.containers[0].ports[0].hostPort"
    assert paths(found) == [at]


@pytest.mark.parametrize(
    ("policy", "port"),
    [({}, "23456"), ({"rdzvPort": 2379}, "2379"), ({"rdzvPort": 24456}, "24456")],
)
def test_under_an_elastic_policy_worker_0_is_asked_first(policy: Json, port: str) -> None:
    bounds = {"minReplicas": 1, "maxReplicas": 4}
    found = jobs(both(at_port(24456), at_port(23456), elasticPolicy=bounds | policy))
    assert only(found)["metadata"]["annotations"] == {contract.PORT: port}
    # The master's number is lost where it is not the one.
    assert len(found.dropped) == int(port != "24456")


def test_a_master_alone_is_a_job_of_one() -> None:
    job = only(jobs(pytorchjob(0, replica("pytorch"))))
    assert job["spec"]["parallelism"] == 1
    assert env(job)["WORLD_SIZE"] == "1"


def test_workers_alone_have_no_master() -> None:
    job = only(jobs(pytorchjob(2)))
    assert "successPolicy" not in job["spec"]
    assert env(job) == {}


def test_the_users_own_variables_win() -> None:
    master = replica("pytorch")
    worker = replica("pytorch")
    for spec in (master, worker):
        spec["template"]["spec"]["containers"][0]["env"] = [{"name": "MASTER_PORT", "value": "1"}]
    document = pytorchjob(0, master)
    document["spec"]["pytorchReplicaSpecs"]["Worker"] = worker
    assert env(only(jobs(document)))["MASTER_PORT"] == "1"


def test_an_elastic_policy_becomes_bounds_and_variables() -> None:
    policy = {
        "minReplicas": 1,
        "maxReplicas": 4,
        "maxRestarts": 100,
        "rdzvBackend": "etcd",
        "rdzvHost": "etcd-client",
        "rdzvPort": 2379,
        "rdzvId": "mine",
        "rdzvConf": [{"key": "timeout", "value": "9"}, {"key": "a", "value": "b"}],
        "nProcPerNode": 2,
        "standalone": False,
    }
    found = jobs(pytorchjob(2, elasticPolicy=policy))
    job = only(found)
    assert job["metadata"]["labels"][contract.MIN] == "1"
    assert job["metadata"]["labels"][contract.MAX] == "4"
    assert job["metadata"]["annotations"] == {contract.PORT: "2379", contract.SLOTS: "2"}
    assert env(job) == {
        "PET_RDZV_BACKEND": "etcd",
        "PET_RDZV_ENDPOINT": "etcd-client:2379",
        "PET_RDZV_ID": "mine",
        "PET_RDZV_CONF": "timeout=9,a=b",
        "PET_MAX_RESTARTS": "100",
    }
    assert found.dropped == ()


def test_the_first_worker_keeps_the_store_here_too() -> None:
    policy = {"minReplicas": 1, "maxReplicas": 4, "rdzvHost": "net-worker-0", "rdzvBackend": "c10d"}
    assert env(only(jobs(pytorchjob(2, elasticPolicy=policy)))) == {}


def test_standalone_is_dropped_because_torchrun_cannot_read_what_the_operator_writes() -> None:
    found = jobs(pytorchjob(2, elasticPolicy={"maxReplicas": 4, "standalone": True}))
    assert paths(found) == ["spec.elasticPolicy.standalone"]
    assert "PET_STANDALONE" not in env(only(found))


def test_metrics_are_dropped_for_room_decides() -> None:
    policy = {"minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "Resource"}]}
    assert paths(jobs(pytorchjob(2, elasticPolicy=policy))) == ["spec.elasticPolicy.metrics"]


@pytest.mark.parametrize(
    ("processes", "slots", "variable"), [("4", "4", None), ("gpu", None, "gpu"), (2, "2", None)]
)
def test_processes_a_pod_are_its_slots(
    processes: object, slots: str | None, variable: str | None
) -> None:
    job = only(jobs(pytorchjob(2, replica("pytorch"), nprocPerNode=processes)))
    assert job["metadata"].get("annotations", {}).get(contract.SLOTS) == slots
    assert env(job).get("PET_NPROC_PER_NODE") == variable
    assert env(job)["WORLD_SIZE"] == str(3 * int(slots or 1))


@pytest.mark.parametrize("processes", ["many", "²", "٣", "9" * 5_000])
def test_an_unknown_number_of_processes_is_refused(processes: str) -> None:
    with pytest.raises(Malformed, match=rf'spec.nprocPerNode: "{processes}"'):
        convert(pytorchjob(2, nprocPerNode=processes))


@pytest.mark.parametrize(("program", "noted"), [("torchrun", 1), ("python3", 0)])
def test_pods_that_the_first_success_ends_are_noted(program: str, noted: int) -> None:
    workers = replica("pytorch", 3)
    workers["template"]["spec"]["containers"][0] |= {"command": [program, "train.py"]}
    specs, policy = {"Worker": workers}, {"cleanPodPolicy": "None"}
    found = jobs(pytorchjob(pytorchReplicaSpecs=specs, runPolicy=policy))
    assert sum(note.what.startswith("cleanPodPolicy: None keeps") for note in found.notes) == noted
