"""The plugin as users have it: found by the real kubectl, where webhook and reconciler run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.integration.support.plugin import printed
from tests.integration.support.stage import Stage, elastic
from tests.waiting import pause_after, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from edl.writes import Json
    from sandbox.cluster import Cluster

pytestmark = pytest.mark.integration

WITHIN = 120.0  # seconds until a test gives up


@dataclass(frozen=True)
class Shell:
    """`kubectl edl …` in one namespace, with our console scripts on PATH."""

    cluster: Cluster
    namespace: str

    def edl(
        self, *args: str, kubeconfig: Path | None = None, given: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.kubectl("edl", *args, "-n", self.namespace, kubeconfig=kubeconfig, given=given)

    def edl_alone(self, *args: str) -> subprocess.CompletedProcess[str]:
        """For commands that know no namespace."""
        return self.kubectl("edl", *args)

    def kubectl(
        self, *args: str, kubeconfig: Path | None = None, given: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environ = {**os.environ, **self.cluster.kubectl_environment(), "PATH": path}
        if kubeconfig:
            environ["KUBECONFIG"] = str(kubeconfig)
        command = [str(self.cluster.kubectl_path), *args]
        done = subprocess.run(
            command, env=environ, input=given, capture_output=True, text=True, check=False
        )
        if done.returncode:  # pytest shows it beside a test that fails
            sys.stderr.write(f"kubectl {shlex.join(args)}: {done.returncode}\n{done.stderr}")
        return done

    def apply(self, *manifests: Json) -> None:
        Stage(self.cluster, self.namespace).apply(*manifests)

    def status(self, job: str) -> Json:
        found = printed(self.cluster, "status", job, "-o", "json", "-n", self.namespace)
        answer: Json = json.loads(found)
        return answer

    def until(self, job: str, holds: Callable[[Json], bool]) -> Json:
        """The first status of `job` for which `holds`."""
        begun = time.monotonic()
        while not holds(now := self.status(job)):
            waited = time.monotonic() - begun
            assert waited < WITHIN, now
            time.sleep(pause_after(waited, *Stage.pauses))
        return now


@pytest.fixture
def shell(installed: Stage) -> Shell:
    return Shell(installed.cluster, installed.namespace)


def plain(name: str, parallelism: int = 1) -> Json:
    """A Job of somebody who does not know us."""
    manifest = elastic(name, parallelism=parallelism)
    del manifest["metadata"]["labels"]
    return manifest


def sweep() -> Json:
    return elastic("sweep", labels={"min": "1", "max": "4"}, parallelism=1)


def running(size: int) -> Callable[[Json], bool]:
    return lambda status: (
        status["roles"][0]["runningReplicas"] == size and not status["pendingReplicas"]
    )


def test_kubectl_finds_the_plugin_and_its_completion(shell: Shell) -> None:
    shell.apply(sweep())
    assert shell.kubectl("edl", "version").stdout.startswith("kubectl-edl ")
    offered = shell.kubectl("__complete", "edl", "status", "-n", shell.namespace, "")
    assert offered.stdout.splitlines() == ["sweep", ":4"]


def test_status_follows_a_job_that_grows(shell: Shell) -> None:
    shell.apply(sweep())
    shell.until("sweep", running(4))
    assert json.loads(shell.edl("status", "sweep", "-o", "json").stdout)["phase"] == "Running"
    line = shell.edl("status").stdout.splitlines()[1].split()
    assert line[:5] == ["sweep", "none", "Running", "worker=4/1..4", "0"]
    detail = shell.edl("status", "sweep").stdout
    assert "of its minimum fit" in detail
    assert "node-00" in detail


def test_a_size_is_held_and_given_back(shell: Shell) -> None:
    shell.apply(sweep())
    shell.until("sweep", running(4))
    assert shell.edl("scale", "sweep", "2").returncode == 0
    assert shell.until("sweep", running(2))["roles"][0]["manualReplicas"] == 2
    refused = shell.edl("scale", "sweep", "9")
    assert refused.returncode == 1
    assert "worker takes 1..4, not 9; change the bound: kubectl edl scale sweep" in refused.stderr
    assert shell.edl("scale", "sweep", "--auto").returncode == 0
    shell.until("sweep", running(4))
    assert shell.edl("scale", "sweep", "--max", "3").returncode == 0
    shell.until("sweep", running(3))


def test_a_paused_job_leaves_the_nodes_and_comes_back(shell: Shell) -> None:
    shell.apply(sweep())
    shell.until("sweep", running(4))
    assert shell.edl("pause", "sweep").returncode == 0
    assert shell.until("sweep", lambda now: now["phase"] == "Paused")["paused"] is True
    assert shell.edl("resume", "sweep").returncode == 0
    shell.until("sweep", running(4))


def test_a_dry_run_on_the_server_changes_nothing(shell: Shell) -> None:
    shell.apply(sweep())
    shell.until("sweep", running(4))
    shown = shell.edl("scale", "sweep", "2", "--dry-run", "server", "-o", "json")
    assert json.loads(shown.stdout)["metadata"]["annotations"]["edl.dev/replicas"] == "2"
    assert shell.status("sweep")["roles"][0]["manualReplicas"] is None


def test_the_queue_says_what_is_missing(shell: Shell) -> None:
    shell.apply(elastic("big", labels={"min": "40", "max": "50"}, parallelism=40))
    shell.until("big", lambda now: now["phase"] == "Queued")
    (waiting,) = json.loads(shell.edl("queue", "-o", "json").stdout)["items"]
    assert waiting["metadata"]["name"] == "big"
    assert waiting["requests"] == {"cpu": "40000m", "memory": str(40 * 2**27), "pods": "40"}
    assert waiting["reason"] == "NeverFits"
    assert "CPU" in waiting["message"]


def test_a_watch_in_a_pipe_prints_what_changes(shell: Shell) -> None:
    shell.apply(sweep())
    shell.until("sweep", running(4))
    environ = {**os.environ, **shell.cluster.kubectl_environment()}
    command = [str(Path(sys.executable).parent / "kubectl-edl"), "status", "-w"]
    with subprocess.Popen(
        [*command, "-n", shell.namespace], env=environ, stdout=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().startswith("NAME ")
        assert "worker=4/1..4" in watch.stdout.readline()
        shell.edl("scale", "sweep", "2")
        changed = next(line for line in watch.stdout if "worker=2/1..4" in line)
        watch.terminate()
    assert changed.startswith("sweep ")


def test_a_file_is_labelled_and_applied(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(plain("sweep")))
    options = ("--framework", "none", "--min", "1", "--max", "3")
    labelled = shell.edl("adopt", "-f", str(file), *options)
    assert labelled.returncode == 0
    shell.apply(yaml.safe_load(labelled.stdout))
    shell.until("sweep", running(3))


def test_a_running_job_is_made_elastic(shell: Shell) -> None:
    shell.apply(plain("sweep", parallelism=2))
    told = shell.edl("scale", "sweep", "3")
    assert told.returncode == 1
    assert "is not elastic" in told.stderr
    options = ("--framework", "none", "--min", "1", "--max", "3")
    assert "--recreate" in shell.edl("adopt", "sweep", *options).stderr
    made = shell.edl("adopt", "sweep", *options, "--recreate", "--yes")
    assert (made.returncode, made.stderr) == (0, "")
    shell.until("sweep", running(3))
    wider = shell.edl("adopt", "sweep", "--max", "4", "--recreate", "--yes")
    assert wider.returncode == 0, wider.stderr
    shell.until("sweep", running(4))


def name_policy(namespace: str, prefix: str) -> str:
    """Policies by which names of new Jobs must begin so, and which warn of each new Job by name."""
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
    begins = f"object.metadata.name.startsWith('{prefix}')"
    manifests = []
    for action, validation in (
        ("Deny", {"expression": begins, "message": f"a name begins with {prefix}"}),
        ("Warn", {"expression": "false", "messageExpression": "'a Job: ' + object.metadata.name"}),
    ):
        metadata = {"name": f"{namespace}-{action.lower()}"}
        spec = {
            "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE"]}]},
            "validations": [validation],
        }
        here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        binding: Json = {"policyName": metadata["name"], "validationActions": [action]}
        binding["matchResources"] = {"namespaceSelector": here}
        for kind, body in (("", spec), ("Binding", binding)):
            manifest: Json = {"kind": f"ValidatingAdmissionPolicy{kind}", "metadata": metadata}
            manifest["apiVersion"] = "admissionregistration.k8s.io/v1"
            manifests.append(manifest | {"spec": body})
    return yaml.safe_dump_all(manifests)


def test_a_policy_on_names_of_jobs_lets_a_job_be_made_elastic(shell: Shell) -> None:
    shell.apply(plain("vision-sweep"))
    policies = name_policy(shell.namespace, "vision-")
    assert shell.kubectl("create", "-f", "-", given=policies).returncode == 0
    try:
        tried = ("create", "job", "x", "--image", "i", "--dry-run=server", "-n", shell.namespace)
        until(lambda: "a name begins" in (said := shell.kubectl(*tried).stderr) and "a Job" in said)
        line = ("--framework", "none", "--min", "1", "--max", "3", "--recreate", "--yes")
        made = shell.edl("adopt", "vision-sweep", *line)
        assert made.returncode == 0
        (warning,) = made.stderr.splitlines()
        assert warning.startswith("Warning: ")
        assert warning.endswith("a Job: vision-sweep")
    finally:
        shell.kubectl("delete", "-f", "-", given=policies)


def test_no_job_is_deleted_where_no_webhook_completes_it(shell: Shell) -> None:
    """The webhook excludes the namespace kube-system."""
    system = Shell(shell.cluster, "kube-system")
    system.apply(plain("sweep"))
    try:
        made = system.edl("adopt", "sweep", "--framework", "none", "--recreate", "--yes")
        assert made.returncode == 1
        assert "no webhook completes labelled Jobs in namespace kube-system" in made.stderr
        assert system.kubectl("get", "job", "sweep", "-n", "kube-system").returncode == 0
    finally:
        system.kubectl("delete", "job", "sweep", "-n", "kube-system")


def test_a_user_of_one_namespace_sees_it_and_learns_what_is_missing(
    shell: Shell, tmp_path: Path
) -> None:
    shell.apply(sweep())
    shell.until("sweep", running(4))
    user = limited_user(shell, tmp_path)
    seen = shell.edl("status", kubeconfig=user)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert "worker=4/1..4" in seen.stdout
    queue = shell.edl("queue", kubeconfig=user)
    assert queue.returncode == 0
    assert f"kubectl auth can-i get configmaps/edl-queue -n {shell.namespace}" in queue.stderr
    explained = shell.edl("explain", "sweep", kubeconfig=user)
    assert "kubectl auth can-i list nodes" in explained.stderr
    refused = shell.edl("scale", "sweep", "2", kubeconfig=user)
    assert refused.returncode == 1
    assert f"kubectl auth can-i patch jobs.batch/sweep -n {shell.namespace}" in refused.stderr


def limited_user(shell: Shell, folder: Path) -> Path:
    """A kubeconfig of somebody who may read the Jobs and pods of one namespace."""
    cluster, where = shell.cluster, ("-n", shell.namespace)
    cluster.kubectl(*where, "create", "serviceaccount", "ann")
    rights = ("--verb=get,list,watch", "--resource=jobs.batch,pods")
    cluster.kubectl(*where, "create", "role", "ann", *rights)
    account = f"--serviceaccount={shell.namespace}:ann"
    cluster.kubectl(*where, "create", "rolebinding", "ann", "--role=ann", account)
    token = cluster.kubectl(*where, "create", "token", "ann").strip()
    server = {"server": cluster.server, "certificate-authority": str(cluster.ca)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": server}],
        "users": [{"name": "ann", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "ann"}}],
        "current-context": "c",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def test_no_api_server_is_one_line_with_its_address(tmp_path: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "kubectl_edl", "status", "--kubeconfig", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "https://127.0.0.1:1" in done.stderr
    assert "--kubeconfig" in done.stderr


def test_delete_takes_the_jobs_and_asks_the_api_server_first_where_it_is_told_to(
    shell: Shell,
) -> None:
    shell.apply(elastic("one"), elastic("two"), plain("kept"))
    tried = shell.edl("delete", "one", "two", "--dry-run", "server")
    assert tried.stdout.splitlines() == [
        "one: deleted (server dry run)",
        "two: deleted (server dry run)",
    ]
    unasked = shell.edl("delete", "one")
    assert unasked.returncode == 1
    assert "add --yes" in unasked.stderr
    found = shell.edl("delete", "--all", "--yes")
    told = [line.partition(";")[0] for line in found.stdout.splitlines()]  # their pods may run
    assert (found.returncode, told) == (0, ["one: deleted", "two: deleted"])
    left = shell.kubectl("get", "jobs", "-n", shell.namespace, "-o", "name").stdout
    assert left == "job.batch/kept\n"
