"""What a namespace says about its Jobs: to those that are labelled, and to those that are not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dev.installation import Installation
from edl import contract
from edl.errors import Invalid
from edl.kube.api.client import connect
from edl.model import ObjectRef
from edl.writes import Json
from tests.integration.support.later_webhook import adds_container
from tests.integration.support.stage import Stage, elastic
from tests.integration.support.webhook import Webhook

pytestmark = pytest.mark.integration

RULES = {
    contract.DEFAULT_FRAMEWORK: "none",
    contract.LARGEST_MAX: "4",
    contract.GPU_BUDGET: "4",
}


@pytest.fixture
def webhook(installation: Installation) -> Webhook:
    return Webhook(installation.cluster, installation)


@pytest.fixture
def lab(installed: Stage) -> Stage:
    """A namespace that opted in as a whole, with ceilings."""
    say(installed, injection=contract.ENABLED, **RULES)
    return installed


def say(stage: Stage, *, injection: str | None = None, **annotations: str | None) -> None:
    """Write on the stage's namespace and wait until both who read it have read it.

    The API server needs a moment for the label, our webhook one for the annotations.
    """
    body = {"metadata": {"annotations": annotations}}
    stage.api.patch(ObjectRef("Namespace", "", stage.namespace), body)
    if injection:
        label = {"metadata": {"labels": {contract.INJECTION: injection}}}
        stage.api.patch(ObjectRef("Namespace", "", stage.namespace), label)
        wanted = injection == contract.ENABLED
        stage.until(lambda: is_completed(stage) is wanted, "the label is known")
    if limit := annotations.get(contract.LARGEST_MAX):
        too_large = str(int(limit) + 1)
        stage.until(lambda: is_refused(stage, max=too_large), "the ceiling is known")
        stage.until(lambda: not is_refused(stage, max=limit), "no other ceiling is")


def plain(name: str, **spec: Any) -> Json:  # noqa: ANN401 - JSON
    """A Job without a label of ours."""
    manifest = elastic(name, **spec)
    manifest["metadata"]["labels"] = {}
    return manifest


def is_completed(stage: Stage) -> bool:
    return bool(dry_run(stage, plain("probe"))["spec"]["suspend"])


def is_refused(stage: Stage, **labels: str) -> bool:
    try:
        dry_run(stage, torch("probe", **labels))
    except Invalid as error:
        return f'namespace "{stage.namespace}"' in str(error)
    return False


def torch(name: str, **labels: str) -> Json:
    """A Job that asks for us itself."""
    return elastic(name, labels={"framework": "pytorch", **labels})


def dry_run(stage: Stage, manifest: Json) -> Json:
    return stage.api.create(ObjectRef("Job", stage.namespace, ""), manifest, dry_run=True)


def job_labels(manifest: Json) -> Json:
    found: Json = manifest["metadata"].get("labels") or {}
    return found


# -- Jobs without our label ---------------------------------------------------------------------


def test_an_unlabelled_job_is_completed_queued_and_started(lab: Stage, webhook: Webhook) -> None:
    before = webhook.reviews()
    lab.apply(plain("sweep", parallelism=2, completions=4))
    assert webhook.reviews() == before + 3, "two entries mutate: without the label, and with it"
    found = job_labels(lab.job("sweep"))
    assert (found[contract.FRAMEWORK], found[contract.MAX]) == ("none", "2")
    lab.until_runs("sweep", 2)


def test_a_later_webhook_may_change_a_job_without_the_label(lab: Stage, tmp_path: Path) -> None:
    """The API server calls an entry again only if it has called it before."""
    say(lab, **{contract.DEFAULT_FRAMEWORK: "tensorflow"})

    def added() -> Json:
        manifest = dry_run(lab, plain("sweep"))
        known = job_labels(manifest)[contract.FRAMEWORK] == "tensorflow"
        containers = manifest["spec"]["template"]["spec"]["containers"]
        found: Json = containers[1] if known and containers[1:] else {}
        return found

    with adds_container(lab, tmp_path):
        lab.until(added, "both webhooks are called")
        assert "TF_CONFIG" in {entry["name"] for entry in added()["env"]}


def test_in_another_namespace_it_never_reaches_us(installed: Stage, webhook: Webhook) -> None:
    before = webhook.reviews()
    installed.apply(plain("sweep"))
    installed.until(lambda: installed.running("sweep") == 1, "it runs as ever")
    installed.kubectl("label", "job", "sweep", "team=vision")
    assert webhook.reviews() == before
    assert not [name for name in job_labels(installed.job("sweep")) if "edl" in name]


def with_annotation(name: str, value: str) -> Json:
    manifest = plain("mine")
    manifest["metadata"]["annotations"] = {name: value}
    return manifest


def with_label(name: str, value: str) -> Json:
    manifest = plain("mine")
    manifest["metadata"]["labels"] = {name: value}
    return manifest


def owned_by(kind: str) -> Json:
    owner = {"apiVersion": "example.com/v1", "kind": kind, "name": "x", "uid": "1"}
    manifest = plain("mine")
    manifest["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    return manifest


@pytest.mark.parametrize(
    "manifest",
    [
        with_label(contract.INJECTION, contract.DISABLED),
        with_label(contract.KUEUE_QUEUE, "team"),
        with_annotation("helm.sh/hook", "pre-install"),
        with_annotation("argocd.argoproj.io/hook", "Sync"),
        owned_by("Workflow"),
        plain("mine", managedBy="kueue.x-k8s.io/multikueue"),
    ],
    ids=["opted out", "Kueue", "Helm hook", "Argo hook", "another controller", "managedBy"],
)
def test_a_job_that_opts_out_or_has_a_controller_never_reaches_the_webhook(
    lab: Stage, webhook: Webhook, manifest: Json
) -> None:
    before = webhook.reviews()
    stored = dry_run(lab, manifest)
    assert webhook.reviews() == before
    assert (stored["spec"]["suspend"], contract.FRAMEWORK in job_labels(stored)) == (False, False)


def test_a_cronjobs_jobs_are_ours(lab: Stage) -> None:
    template = {"spec": plain("x")["spec"]}
    lab.apply(
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "nightly"},
            "spec": {"schedule": "0 0 1 1 *", "jobTemplate": template},
        }
    )
    lab.kubectl("create", "job", "nightly-1", "--from=cronjob/nightly")
    assert job_labels(lab.job("nightly-1"))[contract.JOB] == "nightly-1"
    lab.until_runs("nightly-1", 1)
    lab.kubectl("delete", "cronjob", "nightly")


def test_a_generated_name_works(lab: Stage) -> None:
    manifest = plain("x")
    manifest["metadata"] = {"generateName": "sweep-"}
    lab.kubectl("create", "-f", "-", text=json.dumps(manifest))
    (found,) = lab.all("Job")
    lab.until_runs(found["metadata"]["name"], 1)


def test_a_job_that_does_not_fit_the_default_framework_runs_as_ever_with_a_warning(
    lab: Stage, tmp_path: Path
) -> None:
    say(lab, **{contract.DEFAULT_FRAMEWORK: "tensorflow"})
    fits = plain("fits")
    lab.until(lambda: job_labels(dry_run(lab, fits))[contract.FRAMEWORK] == "tensorflow", "it")
    path = tmp_path / "items.json"
    path.write_text(json.dumps(plain("items", completions=8)))
    said = lab.kubectl_warnings("create", "-f", str(path))
    assert "Warning: Job items: an ordinary Job, not elastic: it does not fit tensorflow" in said
    assert "Warning: Job items: spec.completions: 8 completions with parallelism 1" in said
    lab.until(lambda: lab.running("items") == 1, "it runs as ever")


def test_a_job_of_shards_is_complete_once_each_has_succeeded(lab: Stage) -> None:
    say(lab, **{contract.DEFAULT_FRAMEWORK: "pytorch", contract.DEFAULT_MAX: "4"})
    shards = plain("shards", parallelism=3, completions=3, completionMode="Indexed")
    lab.until(lambda: job_labels(dry_run(lab, shards))[contract.FRAMEWORK] == "pytorch", "it")
    lab.apply(shards)
    lab.until_runs("shards", 3)
    for index in (1, 0):
        lab.complete("shards", index)
    lab.until(lambda: lab.job("shards")["status"].get("succeeded") == 2, "two have ended")
    assert (lab.running("shards"), lab.is_complete("shards")) == (1, False)
    lab.complete("shards", 2)
    lab.until(lambda: lab.is_complete("shards"), "the last one has ended")


def test_applying_the_users_own_file_again_changes_nothing(lab: Stage) -> None:
    lab.apply(plain("sweep"))
    lab.until_runs("sweep", 1)
    before = lab.job("sweep")["spec"]
    lab.apply(plain("sweep"))
    lab.apply(plain("sweep"), flags=("--server-side", "--force-conflicts"))
    assert lab.job("sweep")["spec"] == before
    assert job_labels(lab.job("sweep"))[contract.FRAMEWORK] == "none"


# -- defaults and ceilings ----------------------------------------------------------------------


def test_defaults_reach_the_queue_and_the_pods(installed: Stage) -> None:
    """The label is not needed: this Job asks for us itself."""
    installed.kubectl("create", "priorityclass", installed.namespace, "--value=100")
    try:
        priority = {contract.DEFAULT_PRIORITY: installed.namespace}
        bounds = {contract.DEFAULT_MIN: "2", contract.DEFAULT_MAX: "3", contract.LARGEST_MAX: "8"}
        say(installed, **bounds, **priority)
        installed.apply(torch("net"))
        installed.until_runs("net", 3)
        assert {pod["spec"]["priority"] for pod in installed.pods("net")} == {100}
        assert job_labels(installed.job("net"))[contract.MIN] == "2"
    finally:
        installed.kubectl("delete", "priorityclass", installed.namespace)


def test_a_job_above_a_ceiling_is_refused_with_the_namespaces_setting(installed: Stage) -> None:
    say(installed, **RULES)
    said = installed.refused(torch("big", max="5", gpu="1"))
    assert 'The Job "big" is invalid' in said
    assert (
        "metadata.labels[edl.dev/max]: 5 is above 4, the edl.dev/largest-max of namespace "
        f'"{installed.namespace}"; at most 4'
    ) in said
    assert (
        "metadata.labels[edl.dev/gpu]: 5 pods × 1 GPU = 5 GPUs, above 4, the edl.dev/gpu-budget of "
        f'namespace "{installed.namespace}"; a max of 4 with 1 GPU each'
    ) in said
    assert not installed.all("Job")


def test_a_changed_ceiling_takes_effect_and_old_jobs_stay_touchable(installed: Stage) -> None:
    say(installed, **{contract.LARGEST_MAX: "6"})
    installed.apply(torch("net", min="1", max="6"))
    say(installed, **{contract.LARGEST_MAX: "2"})
    set_max = ("label", "job", "net", "--overwrite")
    installed.kubectl("label", "job", "net", "team=vision")
    installed.kubectl(*set_max, f"{contract.MAX}=5")
    assert "6 is above 2" in installed.kubectl_refused(*set_max, f"{contract.MAX}=6")
    assert "6 is above 2" in installed.refused(torch("other", max="6"))
    installed.kubectl(*set_max, f"{contract.MAX}=1")
    assert "3 is above 2" in installed.kubectl_refused(*set_max, f"{contract.MAX}=3")
    installed.kubectl(*set_max, f"{contract.MAX}=2")
    installed.until_runs("net", 2)
    installed.kubectl("delete", "job", "net", "--cascade=foreground")
    assert not installed.exists("Job", "net")


def test_labelling_an_old_job_anew_above_a_ceiling_deletes_nothing(installed: Stage) -> None:
    installed.apply(plain("sweep", parallelism=5))
    uid = installed.job("sweep")["metadata"]["uid"]
    say(installed, **RULES)
    command = [sys.executable, "-m", "kubectl_edl", "adopt", "sweep", "-n", installed.namespace]
    command += ["--framework", "pytorch", "--recreate", "--yes"]
    environment = os.environ | installed.cluster.kubectl_environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "spec.parallelism: 5 is above 4, the edl.dev/largest-max of namespace" in done.stderr
    assert installed.job("sweep")["metadata"]["uid"] == uid


# -- settings that cannot be read ---------------------------------------------------------------


def annotate(stage: Stage, *settings: str) -> None:
    stage.kubectl("annotate", "namespace", stage.namespace, "--overwrite", *settings)


def test_a_setting_that_cannot_be_read_is_refused_when_it_is_written(installed: Stage) -> None:
    place = ("annotate", "namespace", installed.namespace)
    said = installed.kubectl_refused(*place, f"{contract.LARGEST_MAX}=four")
    assert 'metadata.annotations[edl.dev/largest-max]: "four"; a whole number from 1' in said
    said = installed.kubectl_refused(*place, "edl.dev/larges-max=4")
    assert "did you mean edl.dev/largest-max?" in said
    said = installed.kubectl_refused(
        "label", "namespace", installed.namespace, f"{contract.INJECTION}=true"
    )
    assert "enabled, or leave it out" in said


def test_one_that_came_in_while_we_were_away_lets_nothing_new_in_and_stops_no_namespace(
    installed: Stage, webhook: Webhook
) -> None:
    installed.apply(torch("before", max="2"))
    with webhook.dead():
        annotate(installed, f"{contract.LARGEST_MAX}=four", f"{contract.GPU_BUDGET}=2")
        annotate(installed, "edl.dev/larges-max=4")
        name = f"{installed.namespace}-gone"
        installed.kubectl("create", "namespace", name)
        installed.kubectl("annotate", "namespace", name, f"{contract.LARGEST_MAX}=four")
    said = installed.refused(torch("net"))
    assert (
        f'namespace "{installed.namespace}" metadata.annotations[edl.dev/largest-max]: "four"'
    ) in said
    assert "metadata.annotations[edl.dev/larges-max]: a namespace has no such setting" in said
    installed.kubectl("label", "job", "before", "team=vision")
    annotate(installed, "team=vision", f"{contract.GPU_BUDGET}=4")
    annotate(installed, f"{contract.LARGEST_MAX}=4")
    assert is_refused(installed)
    annotate(installed, "edl.dev/larges-max-")
    installed.until(lambda: not is_refused(installed), "it is mended")
    installed.kubectl("delete", "namespace", name, "--timeout=60s")


# -- a namespace that nobody knew a moment ago --------------------------------------------------


def test_a_new_namespace_and_its_jobs_may_come_in_one_file(
    installed: Stage, webhook: Webhook
) -> None:
    """Its ceiling holds for a Job that comes right after it, however late the watch is."""
    name = f"{installed.namespace}-new"
    namespace: Json = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "annotations": {contract.LARGEST_MAX: "2"}},
    }
    api = connect(str(webhook.cluster.kubeconfig))
    for number in range(5):
        made = namespace | {"metadata": namespace["metadata"] | {"name": f"{name}-{number}"}}
        api.create(ObjectRef("Namespace", "", ""), made)
        large, small = (torch("net", max=most) for most in ("3", "2"))
        with pytest.raises(Invalid, match="3 is above 2"):
            api.create(ObjectRef("Job", f"{name}-{number}", ""), large)
        api.create(ObjectRef("Job", f"{name}-{number}", ""), small)
        webhook.cluster.kubectl("delete", "namespace", f"{name}-{number}", "--wait=false")
