"""`kubectl edl create`, `inject` and `logs` where webhook and reconciler run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from edl import contract
from edl.frameworks import FRAMEWORKS
from edl.model import ObjectRef
from tests.integration.support.stage import elastic

if TYPE_CHECKING:
    from edl.frameworks.base import Framework
    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

SMALL = ("--image", "none", "--cpu", "100m", "--memory", "32Mi")


def edl(stage: Stage, *args: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """`kubectl edl ARGS` in the test's namespace; everything after `--` is left where it is."""
    place = args.index("--") if "--" in args else len(args)
    command = [sys.executable, "-m", "kubectl_edl", *args[:place], "-n", stage.namespace]
    environ = {**os.environ, **stage.cluster.kubectl_environment()}
    return subprocess.run(
        [*command, *args[place:]],
        env=environ,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def sizes(framework: Framework) -> list[str]:
    """What its usual mode needs: one of each, and one to three workers."""
    mode = next(mode for mode in framework.modes if not mode.opt_in)
    roles = {*mode.roles, mode.role, framework.worker} - {""}
    given = {role: "1..3" if framework.kinds[role].resizable else "1" for role in sorted(roles)}
    return [word for role, size in given.items() for word in (f"--{role}", size)]


def names(stage: Stage) -> list[str]:
    return sorted(job["metadata"]["name"] for job in stage.all("Job"))


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_what_is_created_for_a_framework_runs(installed: Stage, name: str) -> None:
    options = [*sizes(FRAMEWORKS[name]), *SMALL]
    program = "torchrun" if name == "pytorch" else "train"
    made = edl(installed, "create", name, "demo", *options, "--", program, "--fast")
    assert (made.returncode, made.stderr) == (0, "")
    told = [line.partition(": ")[0] for line in sorted(made.stdout.splitlines())]
    assert [f"job.batch/{job} created" for job in names(installed)] == told
    elastic_role = "demo" if "demo" in names(installed) else f"demo-{FRAMEWORKS[name].worker}"
    installed.until_runs(elastic_role, 3)
    for job in set(names(installed)) - {elastic_role}:
        installed.until_runs(job, 1)


def test_what_the_api_server_warns_of_is_printed_once(installed: Stage) -> None:
    warn = {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}
    installed.api.patch(ObjectRef("Namespace", "", installed.namespace), {"metadata": warn})
    made = edl(installed, "create", "none", "sweep", "--image", "none", "--workers", "1..2")
    assert made.stdout == "job.batch/sweep created: worker=1..2\n"
    first, second = sorted(made.stderr.splitlines())
    assert first.startswith("Warning: no container of worker requests CPU or memory: ")
    assert first.endswith("; set resources.requests")
    assert second.startswith('Warning: would violate PodSecurity "restricted:latest": ')


def test_a_file_that_was_written_can_be_applied_and_applied_again(installed: Stage) -> None:
    command = ("create", "tensorflow", "mnist", "--chief", "--ps", "1", "--workers", "1..2", *SMALL)
    file = edl(installed, *command, "--dry-run", "client", "-o", "yaml", "--", "train").stdout
    assert edl(installed, *command, "--", "train").returncode == 0
    said = installed.kubectl("apply", "-f", "-", text=file)
    assert said.splitlines() == [
        f"job.batch/mnist-{role} unchanged" for role in ("chief", "ps", "worker")
    ]


def test_a_server_dry_run_finds_every_refusal_and_creates_nothing(installed: Stage) -> None:
    installed.apply(elastic("mnist-ps"))
    command = ("create", "tensorflow", "mnist", "--ps", "1", "--workers", "1..2", *SMALL)
    twice = ("--pvc", "a:/data", "--pvc", "b:/data")
    found = edl(installed, *command, *twice, "--dry-run", "server")
    assert found.returncode == 1
    lines = found.stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "job.batch/mnist-ps",
        "job.batch/mnist-worker",
    ]
    assert all("must be unique" in line for line in lines)
    taken = edl(installed, *command)
    assert "job.batch/mnist-ps: exists already" in taken.stderr
    assert names(installed) == ["mnist-ps"]


def test_jobs_that_a_quota_stops_halfway_are_taken_back(installed: Stage) -> None:
    """A quota counts each dry run alone, so only the real creation meets it."""
    installed.kubectl("create", "quota", "few", "--hard=count/jobs.batch=2")
    installed.until(lambda: '"hard"' in quota(installed), "the quota is in force")
    command = ("create", "tensorflow", "mnist", "--chief", "--ps", "1", "--workers", "1..2", *SMALL)
    found = edl(installed, *command)
    assert (found.returncode, found.stdout) == (1, "")
    assert "exceeded quota: few" in found.stderr
    assert found.stderr.endswith("what was created is deleted again: mnist-chief, mnist-ps\n")
    installed.until(lambda: not installed.all("Job"), "nothing is left")


def quota(stage: Stage) -> str:
    return stage.kubectl("get", "quota", "few", "-o", "jsonpath={.status}")


def test_what_inject_prints_is_what_is_stored_and_can_be_applied(installed: Stage) -> None:
    command = ("create", "horovod", "h", "--workers", "1..3", *SMALL, "--dry-run", "client")
    file = edl(installed, *command, "-o", "yaml", "--", "horovodrun").stdout
    image = installed_image(installed)
    found = edl(installed, "inject", "-f", "-", "--image", image, given=file)
    assert (found.returncode, found.stderr) == (0, "")
    given, injected = (
        {one["metadata"]["name"]: one for one in yaml.safe_load_all(text)}
        for text in (file, found.stdout)
    )
    for name, manifest in given.items():
        stored = dry_run(installed, manifest)
        assert dry_run(installed, injected[name]) == stored
        # Which rules completed it is for the webhook alone to say.
        annotations = dict(stored["metadata"]["annotations"])
        assert annotations.pop(contract.COMPLETED_BY)
        assert injected[name]["metadata"]["annotations"] == annotations
    installed.kubectl("apply", "-f", "-", text=found.stdout)
    installed.until_runs("h-launcher", 1)


def dry_run(stage: Stage, manifest: Json) -> Json:
    text = stage.kubectl(
        *("create", "--dry-run=server", "-o", "json", "-f", "-"), text=json.dumps(manifest)
    )
    stored: Json = json.loads(text)
    for field in ("uid", "creationTimestamp", "generation", "managedFields"):
        stored["metadata"].pop(field, None)
    for labels in (stored["metadata"]["labels"], stored["spec"]["template"]["metadata"]["labels"]):
        for name in [name for name in labels if name.endswith(("controller-uid", "job-name"))]:
            del labels[name]
    stored["spec"].pop("selector", None)
    return stored


def installed_image(stage: Stage) -> str:
    """From where the webhook gives launchers their kubectl."""
    launcher = elastic(
        "x-launcher", labels={"framework": "horovod", "job": "x", "role": "launcher"}
    )
    launcher["metadata"]["annotations"] = {contract.ROLES: "launcher=1,worker=1"}
    pod = dry_run(stage, launcher)["spec"]["template"]["spec"]
    return str(pod["initContainers"][0]["image"])


def test_logs_of_a_simulated_job_say_that_nothing_writes_one(installed: Stage) -> None:
    installed.apply(elastic("sweep"))
    installed.until_runs("sweep", 1)
    for flags in ((), ("--tail", "1", "--since", "1m", "--timestamps")):
        found = edl(installed, "logs", "sweep", *flags)
        assert (found.returncode, found.stdout) == (1, "")
        assert found.stderr.startswith("error: simulated pods write no log: ")
        assert len(found.stderr.splitlines()) == 1


def test_logs_of_a_job_that_waits_say_for_what(installed: Stage) -> None:
    installed.apply(elastic("big", labels={"min": "400", "max": "400"}, parallelism=400))
    installed.until(lambda: "Insufficient cpu" in installed.message("big"), "the reason is known")
    found = edl(installed, "logs", "big")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == f"error: big has no pods: it is Queued: {installed.message('big')}\n"


def test_following_a_job_ends_when_it_is_deleted(installed: Stage) -> None:
    installed.apply(elastic("big", labels={"min": "400", "max": "400"}, parallelism=400))
    environ = {**os.environ, **installed.cluster.kubectl_environment()}
    command = [sys.executable, "-m", "kubectl_edl", "logs", "-f", "big", "-n", installed.namespace]
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as follow:
        assert follow.stderr is not None
        assert "big has no pods: it is Queued" in follow.stderr.readline()
        installed.kubectl("delete", "job", "big")
        rest = follow.stderr.read()
        assert follow.wait(timeout=30) == 0
    assert rest.endswith("big is gone\n")
