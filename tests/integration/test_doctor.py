"""`doctor`, `certs` and `release` as users have them, where webhook and reconciler run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dev.installation import apply_manifests, start_webhook
from edl import contract
from tests.integration.support.plugin import printed
from tests.integration.support.rights import Grant, without
from tests.integration.support.stage import elastic
from tests.integration.test_plugin import Shell, limited_user, running, sweep

if TYPE_CHECKING:
    from dev.installation import Installation
    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

SELECTOR = "/webhooks/0/namespaceSelector/matchExpressions"
JOBS_SELECTOR = "/webhooks/1/namespaceSelector/matchExpressions/-"
OTHERS = {"key": "control-plane", "operator": "NotIn", "values": ["true"]}


@pytest.fixture
def shell(installed: Stage) -> Shell:
    return Shell(installed.cluster, installed.namespace)


def checks(shell: Shell, kubeconfig: Path | None = None) -> dict[str, Json]:
    """What doctor found, by check; of several findings the last."""
    words = ("doctor", "-o", "json")
    if kubeconfig is None:
        found = printed(shell.cluster, *words, "-n", shell.namespace, codes=(0, 1))
    else:
        found = shell.edl(*words, kubeconfig=kubeconfig).stdout
    return {one["name"]: one for one in json.loads(found)["checks"]}


def test_a_real_installation_is_well(shell: Shell) -> None:
    shell.apply(sweep())
    shell.until("sweep", running(4))
    found = shell.edl("doctor")
    assert (found.returncode, found.stderr) == (0, ""), found.stdout
    assert "the API server reaches it: a labelled Job was mutated in a dry run" in found.stdout
    assert "edl-webhook and edl-reconciler have all rights that they need" in found.stdout
    assert "no training job is stuck (1 checked)" in found.stdout
    assert shell.kubectl("get", "jobs", "-n", shell.namespace, "-o", "name").stdout == (
        "job.batch/sweep\n"
    )


def test_a_webhook_that_is_away_is_found_from_the_api_servers_side(
    shell: Shell, installation: Installation
) -> None:
    installation.cluster.stop("webhook")
    try:
        found = checks(shell)
        assert found["webhook-answers"]["result"] == "failure"
        assert "failed calling webhook" in found["webhook-answers"]["message"]
    finally:
        start_webhook(installation)
    assert checks(shell)["webhook-answers"]["result"] == "ok"


def test_a_client_that_changes_a_selector_is_named_until_it_is_applied_again(
    shell: Shell, installation: Installation
) -> None:
    """As AKS's admissions enforcer does where the annotation against it is missing."""
    change = [{"op": "add", "path": f"{SELECTOR}/-", "value": OTHERS}]
    words = ("patch", "mutatingwebhookconfiguration", "edl", "--type=json", "-p")
    try:
        shell.cluster.kubectl(*words, json.dumps(change), "--field-manager=admissionsenforcer")
        found = checks(shell)["webhook-configuration"]
        assert found["result"] == "warning"
        assert (
            '"admissionsenforcer" has changed namespaceSelector of namespaces.' in found["message"]
        )
    finally:
        apply_manifests(installation, force=True)
    assert checks(shell)["webhook-configuration"]["result"] == "ok"


def test_doctor_fails_where_a_changed_selector_lets_labelled_jobs_be_refused(
    shell: Shell, installed: Stage, installation: Installation
) -> None:
    """The mutating webhook is not called for them, and the validating one refuses the rest."""
    left_out = {"key": contract.NAMESPACE_NAME, "operator": "NotIn", "values": [shell.namespace]}
    change = [{"op": "add", "path": JOBS_SELECTOR, "value": left_out}]
    words = ("patch", "mutatingwebhookconfiguration", "edl", "--type=json", "-p")
    try:
        shell.cluster.kubectl(*words, json.dumps(change), "--field-manager=admissionsenforcer")
        installed.until(
            lambda: checks(shell)["webhook-answers"]["result"] == "failure", "doctor fails"
        )
        assert shell.edl("doctor").returncode == 1
        why, given = "spec.suspend: it is not true", json.dumps(sweep())
        assert why in checks(shell)["webhook-answers"]["message"]
        refused = shell.kubectl("apply", "-n", shell.namespace, "-f", "-", given=given)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert why in refused.stderr
    finally:
        apply_manifests(installation, force=True)
    installed.until(lambda: checks(shell)["webhook-answers"]["result"] == "ok", "it answers again")


def test_a_user_of_one_namespace_is_told_what_is_missing(shell: Shell, tmp_path: Path) -> None:
    found = checks(shell, kubeconfig=limited_user(shell, tmp_path))
    assert found["installed"]["result"] == "warning"
    assert "mutatingwebhookconfigurations" in found["installed"]["message"]
    assert "validatingadmissionpolicies" in found["rights"]["message"]
    user = f"system:serviceaccount:{shell.namespace}:ann"
    assert f"--user={user}" in found["your-rights"]["remediation"]
    assert found["stuck"]["result"] == "ok"


def run_fix(shell: Shell, command: str) -> None:
    """Run a remedy as its user would, with the plugin's Python and a kubectl on PATH."""
    programs = (Path(sys.executable).parent, shell.cluster.kubectl_path.parent)
    path = os.pathsep.join((*map(str, programs), os.environ["PATH"]))
    environ = {**os.environ, **shell.cluster.kubectl_environment(), "PATH": path}
    subprocess.run(["bash", "-o", "pipefail", "-c", command], env=environ, check=True)


def test_a_right_that_was_taken_away_comes_back_by_the_command_that_doctor_prints(
    shell: Shell, installation: Installation
) -> None:
    role = ("clusterrole", "edl-reconciler")
    before = shell.kubectl("get", *role, "-o", "json").stdout
    without = json.loads(before)
    without["metadata"] = {"name": "edl-reconciler"}
    without["rules"] = [rule for rule in without["rules"] if "nodes" not in rule["resources"]]
    shell.kubectl("replace", "-f", "-", given=json.dumps(without))
    try:
        found = checks(shell)["rights"]
        assert "list nodes" in found["message"]
        certificates = str(installation.authority.parent)
        run_fix(shell, found["remediation"].replace("CERT_DIR", certificates))
        assert checks(shell)["rights"]["result"] == "ok"
        assert checks(shell)["webhook-answers"]["result"] == "ok"
    finally:
        whole = json.loads(before)
        whole["metadata"] = {"name": "edl-reconciler", "labels": whole["metadata"]["labels"]}
        shell.kubectl("replace", "-f", "-", given=json.dumps(whole))


def test_doctor_and_events_name_a_write_that_the_reconciler_may_not_make(
    shell: Shell, installed: Stage, installation: Installation
) -> None:
    account = f"{contract.SYSTEM_NAMESPACE}:edl-reconciler"
    patching = Grant("ClusterRole", "edl-reconciler", "batch", "jobs", "patch")
    what = "may not patch jobs.batch"
    with without(installation.cluster, patching, account):
        shell.apply(sweep())
        said = f"ServiceAccount {contract.SYSTEM_NAMESPACE}/edl-reconciler {what}"
        assert checks(shell)["rights"]["message"] == said
        events = ("events", "sweep", "-n", shell.namespace)
        installed.until(lambda: what in printed(installed.cluster, *events), "an Event")
        assert what in shell.edl("status", "sweep").stdout
    shell.until("sweep", running(4))
    assert checks(shell)["rights"]["result"] == "ok"


def test_a_gang_for_which_no_cluster_is_large_enough_is_named(shell: Shell) -> None:
    shell.apply(elastic("giant", labels={"min": "90", "max": "90"}, parallelism=90))
    shell.until("giant", lambda now: now["phase"] == "Queued" and bool(now["reason"]))
    found = checks(shell)["never"]
    assert found["result"] == "warning"
    what = f"{shell.namespace}/giant cannot start on the present nodes and quotas: "
    assert found["message"].startswith(what)


def test_certificates_that_another_keeper_issues_are_left_alone(shell: Shell) -> None:
    refused = shell.edl_alone("certs", "renew")
    assert refused.returncode == 1
    assert "a directory of its own keeps the certificates" in refused.stderr


def test_an_unlabelled_job_runs_on_and_is_its_users_own_again(shell: Shell) -> None:
    shell.apply(sweep())
    shell.until("sweep", running(4))
    pods = ("get", "pods", "-n", shell.namespace, "-o", "name")
    before = shell.kubectl(*pods).stdout
    found = shell.edl("release", "sweep")
    assert found.returncode == 0, found.stderr
    assert found.stdout == "sweep: an ordinary Job again; it runs on, 4 at a time\n"
    job = json.loads(
        shell.kubectl("get", "job", "sweep", "-n", shell.namespace, "-o", "json").stdout
    )
    names = [*job["metadata"].get("labels", {}), *job["metadata"].get("annotations", {})]
    assert not [name for name in names if name.startswith(contract.PREFIX)]
    assert shell.kubectl(*pods).stdout == before
    patch = '{"spec":{"parallelism":2}}'
    own = shell.kubectl("patch", "job", "sweep", "-n", shell.namespace, "-p", patch)
    assert (own.returncode, own.stderr) == (0, "")
    label = ("label", "job", "sweep", "-n", shell.namespace, f"{contract.FRAMEWORK}=none")
    again = shell.kubectl(*label)
    assert again.returncode == 0
    assert "sweep was released and stays an ordinary Job" in again.stderr
    assert shell.edl("status", "sweep").returncode == 1


def test_the_framework_alone_cannot_be_taken_off(shell: Shell) -> None:
    shell.apply(sweep())
    refused = shell.kubectl(
        "label", "job", "sweep", "-n", shell.namespace, f"{contract.FRAMEWORK}-"
    )
    assert refused.returncode == 1
    assert (
        f"kubectl edl release sweep -n {shell.namespace} removes all edl.dev labels, and the Job "
        "runs on" in refused.stderr
    )


def test_a_queued_job_is_handed_back_suspended_and_starts_when_its_user_says(shell: Shell) -> None:
    shell.apply(elastic("giant", labels={"min": "90", "max": "90"}, parallelism=90))
    said = shell.edl("release", "giant").stdout
    assert "it stays suspended until: kubectl patch job giant" in said
    started = shell.kubectl(
        "patch", "job", "giant", "-n", shell.namespace, "-p", '{"spec":{"suspend":false}}'
    )
    assert (started.returncode, started.stderr) == (0, "")
    assert started.stdout == "job.batch/giant patched\n"
