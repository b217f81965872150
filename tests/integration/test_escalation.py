"""What one user writes reaches no further than his own rights, and never into another namespace."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edl import contract
from edl.writes import Json
from tests.integration.support.stage import Stage, role_jobs, stage, tensorflow
from tests.integration.support.webhook import as_account
from tests.integration.test_plugin import Shell

pytestmark = pytest.mark.integration

LOOKS = ("--verb=get,list,watch,patch", "--resource=jobs.batch,pods")
EXECS = ("--verb=get,create", "--resource=pods/exec")


@pytest.fixture
def other(installed: Stage) -> Iterator[Stage]:
    """A stranger's namespace in the same cluster."""
    with stage(installed.cluster) as made:
        yield made


def may(at: Stage, who: str, *rights: str) -> None:
    name = f"{who}-{rights[-1].rpartition('=')[2].replace('/', '-').replace(',', '-')}"
    at.kubectl("create", "role", name, *rights)
    account = f"--serviceaccount={at.namespace}:{who}"
    at.kubectl("create", "rolebinding", name, f"--role={name}", account)


def test_a_script_runs_by_its_callers_own_right_to_exec(installed: Stage, tmp_path: Path) -> None:
    installed.apply(*role_jobs("horovod", "ring", "launcher=1,worker=1..3", worker=1))
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 3, "three are listed")
    installed.until_runs("ring-launcher", 1)
    installed.kubectl("create", "serviceaccount", "ann")
    may(installed, "ann", *LOOKS)
    ann = as_account(installed.cluster, "ann", tmp_path, installed.namespace)
    shell = Shell(installed.cluster, installed.namespace)
    scale = ("scale", "ring", "2", "--script", "/app/leave.sh")

    refused = shell.edl(*scale, kubeconfig=ann)
    assert refused.returncode == 1
    assert 'cannot create resource "pods/exec"' in refused.stderr
    notes = installed.job("ring-worker")["metadata"]["annotations"]
    assert contract.REPLICAS not in notes
    assert installed.size("ring-worker") == 3

    may(installed, "ann", *EXECS)
    allowed = shell.edl(*scale, kubeconfig=ann)
    # A simulated node has nobody who would run it.
    assert "orbidden" not in allowed.stderr
    assert "node-" in allowed.stderr


def test_a_job_of_the_same_name_elsewhere_changes_nothing(installed: Stage, other: Stage) -> None:
    installed.apply(*tensorflow("mnist", "1..2"))
    installed.until_runs("mnist-worker", 2)
    before = picture(installed)
    other.apply(*tensorflow("mnist", "2..3", ps=2))
    with impostor(other, installed.job("mnist-worker")):
        other.until_runs("mnist-worker", 3)
        other.annotate("mnist-worker", replicas="2", remove="worker-0", paused=None)
        other.until_runs("mnist-worker", 2)
        other.annotate("mnist-chief", paused="true")
        other.until(lambda: other.size("mnist-worker") == 0, "the stranger's job rests")
        assert picture(installed) == before
    other.kubectl("delete", "jobs", "--all")
    other.until(lambda: not other.pods("mnist-worker"), "the stranger's job is gone")
    assert picture(installed) == before


@contextmanager
def impostor(at: Stage, owner: Json) -> Iterator[None]:
    """A pod that says it is one of somebody else's Job, and will not be collected."""
    reference = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
    reference |= {name: owner["metadata"][name] for name in ("name", "uid")}
    metadata = {
        "name": "impostor",
        "labels": owner["spec"]["template"]["metadata"]["labels"]
        | {contract.COMPLETION_INDEX_ANNOTATION: "0"},
        "annotations": {contract.COMPLETION_INDEX_ANNOTATION: "0"},
        "finalizers": ["example.com/stays"],
        "ownerReferences": [reference],
    }
    spec = {"containers": [{"name": "main", "image": "none"}]}
    at.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    try:
        yield
    finally:
        released = json.dumps({"metadata": {"finalizers": None}})
        at.kubectl("patch", "pod", "impostor", "--type=merge", "-p", released)


def test_a_job_claiming_other_roles_ends_no_running_pod(installed: Stage) -> None:
    """Within a namespace names are all there is: what has started keeps them."""
    installed.apply(*tensorflow("mnist", "1..2"))
    installed.until_runs("mnist-worker", 2)
    running = installed.uids("mnist-worker") | installed.uids("mnist-chief")
    other_roles = "chief=1,ps=1,worker=1..2,evaluator=1"
    installed.apply(role_jobs("tensorflow", "mnist", other_roles)[-1])
    shell = Shell(installed.cluster, installed.namespace)
    installed.until(
        lambda: "they disagree on edl.dev/roles" in shell.edl("status", "mnist").stdout,
        "its owner is told",
    )
    assert installed.uids("mnist-worker") | installed.uids("mnist-chief") == running
    installed.annotate("mnist-worker", replicas="1")
    installed.until_runs("mnist-worker", 1)
    assert installed.job("mnist-evaluator")["spec"]["suspend"]
    assert installed.running("mnist-evaluator") == 0


def test_a_job_with_another_name_is_refused_beside_other_roles(installed: Stage) -> None:
    claiming = tensorflow("mnist", "1..2")[-1]
    claiming["metadata"]["name"] = "mnist-worker-too"
    assert 'the others expect "mnist-worker"' in installed.refused(claiming)


@pytest.mark.parametrize(
    ("framework", "all_roles", "role"),
    [
        ("horovod", "launcher=1,worker=2", "launcher"),
        ("horovod", "launcher=1,worker=2", "worker"),
        ("paddle", "master=1,pserver=1,trainer=1..2", "master"),
    ],
)
def test_what_is_added_meets_the_restricted_standard(
    installed: Stage, tmp_path: Path, framework: str, all_roles: str, role: str
) -> None:
    """Pod Security looks at what we have completed: neither it nor its user can be got round."""
    warn = "pod-security.kubernetes.io/warn=restricted"
    installed.cluster.kubectl("label", "namespace", installed.namespace, warn)
    job = next(
        job
        for job in role_jobs(framework, "ring", all_roles)
        if job["metadata"]["labels"][contract.ROLE] == role
    )
    if framework == "paddle":
        job["metadata"]["annotations"] |= {contract.MODE: "cloud", contract.ENTRYPOINT: "train.py"}
    pod = job["spec"]["template"]["spec"]
    pod["securityContext"] = {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    pod["containers"][0]["securityContext"] = context
    assert warnings_of(installed, tmp_path, job) == ""
    pod["containers"][0]["securityContext"] = {"privileged": True}
    assert "would violate PodSecurity" in warnings_of(installed, tmp_path, job)


def warnings_of(at: Stage, folder: Path, job: Json) -> str:
    file = folder / "job.json"
    file.write_text(json.dumps(job))
    return at.kubectl_warnings("create", "--dry-run=server", "-f", str(file))


def picture(at: Stage) -> tuple[Json, ...]:
    """Everything of a training job that its owner sees."""
    jobs = [at.job(f"mnist-{role}") for role in ("chief", "ps", "worker")]
    told = [{"spec": job["spec"], "annotations": job["metadata"]["annotations"]} for job in jobs]
    pods = [
        {"uid": pod["metadata"]["uid"], "annotations": pod["metadata"].get("annotations")}
        for job in jobs
        for pod in at.pods(job["metadata"]["name"])
    ]
    return (*told, *pods)
