import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from edl import contract
from edl.errors import ClusterError, Conflict, Forbidden, Invalid, Unreachable
from edl.model import ObjectRef
from kubectl_edl.resources.source_manifest import recreated
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, overtaken, refusing, warning_of
from tests.kubectl_edl.create.test_create import completing
from tests.kubectl_edl.stage import Stage, job, pod_spec

if TYPE_CHECKING:
    from collections.abc import Callable

    from edl.kube.cluster import PluginCluster
    from edl.writes import Json

ELASTIC = ("--framework", "none", "--min", "1", "--max", "4")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    manifest = job("resnet")
    manifest["spec"] |= {"parallelism": 2, "selector": {"matchLabels": {"controller-uid": "1"}}}
    manifest["spec"]["template"]["metadata"] = {
        "labels": {"app": "resnet", "controller-uid": "1", "job-name": "resnet"},
        "creationTimestamp": None,
    }
    stage.create(manifest)
    stage.patch("resnet", {"status": {"active": 2}, "metadata": {"generation": 1}})
    stage.wrapped = completing()
    return stage


def through(
    wrapper: "Callable[[PluginCluster], PluginCluster]",
) -> "Callable[[PluginCluster], PluginCluster]":
    """The wrapper in front of an API server with our webhook."""
    return lambda cluster: wrapper(completing()(cluster))


def test_an_existing_job_is_refused_with_the_recreate_command(stage: Stage) -> None:
    before = stage.job("resnet")
    found = stage.run("adopt", "resnet", *ELASTIC, "-n", "default")
    assert found.code == 1
    assert found.err == (
        'error: Job "resnet" exists: its spec.template is immutable; delete it and '
        "create it again with: kubectl edl adopt resnet --framework none --min 1 --max 4 "
        "-n default --recreate\n"
    )
    assert stage.job("resnet") == before


def test_recreating_starts_from_the_users_manifest(stage: Stage) -> None:
    uid = stage.job("resnet")["metadata"]["uid"]
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "--yes")
    assert found.code == 0
    assert found.out == "resnet: created again with labels: kubectl edl status resnet\n"
    assert stage.job("resnet")["metadata"]["uid"] != uid
    fresh = json.loads(stage.job("resnet")["metadata"]["annotations"][LAST_APPLIED])
    assert fresh["metadata"]["labels"] == {
        contract.FRAMEWORK: "none",
        contract.MIN: "1",
        contract.MAX: "4",
    }
    assert "status" not in fresh
    assert "selector" not in fresh["spec"]
    assert fresh["spec"]["template"]["metadata"] == {"labels": {"app": "resnet"}}


def test_a_recreated_paused_job_is_reported_as_paused(stage: Stage) -> None:
    stage.patch("resnet", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "--yes", "-n", "default")
    assert found.out == (
        "resnet: created again with labels, and paused: kubectl edl resume resnet -n default\n"
    )


def test_missing_prerequisites_of_the_recreated_job_are_hints(stage: Stage) -> None:
    launcher = job("ring-launcher")
    launcher["spec"] = {"template": launcher["spec"]["template"]}
    launcher["spec"]["template"]["spec"]["priorityClassName"] = "nope"
    stage.cluster.create(ObjectRef("Job", "default", "ring-launcher"), launcher)
    consent = {"metadata": {"name": "default", "labels": {contract.KUBEXEC: contract.ENABLED}}}
    stage.cluster.create(ObjectRef("Namespace", "", "default"), consent)
    high = {"metadata": {"name": "high"}, "value": 5}
    stage.cluster.create(ObjectRef("PriorityClass", "", "high"), high)
    labels = ("--job", "ring", "--role", "launcher", "--roles", "launcher=1,worker=2")
    line = ("adopt", "ring-launcher", "--framework", "horovod", *labels, "--recreate", "--yes")
    assert stage.run(*line).err == (
        'hint: nothing starts: PriorityClass "nope" does not exist: create it '
        "(kubectl create priorityclass nope --value=VALUE), or recreate the Jobs with another\n"
    )


@pytest.mark.parametrize("name", ["resnet", "resnet-" + "x" * 56])
def test_a_job_that_no_webhook_would_complete_is_not_deleted(stage: Stage, name: str) -> None:
    stage.wrapped = lambda cluster: cluster
    if name != "resnet":
        stage.create(job(name))
    before = stage.job(name)
    found = stage.run("adopt", name, *ELASTIC, "--recreate", "--yes")
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "error: no webhook completes labelled Jobs in namespace default, so they would run as "
        "ordinary ones: kubectl edl doctor -n default finds the cause; "
        f'Job "{name}" stays as it is\n'
    )
    assert stage.job(name) == before


def test_a_dry_run_prints_the_new_job_and_keeps_the_old(stage: Stage) -> None:
    before = stage.job("resnet")
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "--dry-run", "client")
    shown = yaml.safe_load(found.out)
    assert shown["metadata"]["labels"][contract.MAX] == "4"
    assert "uid" not in shown["metadata"]
    assert stage.job("resnet") == before


def test_misspelt_keys_of_the_old_job_are_a_warning_without_a_server(stage: Stage) -> None:
    stage.patch("resnet", {"metadata": {"labels": {"edl.dev/maxx": "9"}}})
    meant = "edl.dev/maxx is unknown, and does nothing: did you mean edl.dev/max?"
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "--dry-run", "client")
    assert found.err == f"warning: {meant}; the new resnet would have it, too\n"


def test_without_a_terminal_a_recreation_needs_yes(stage: Stage) -> None:
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate")
    assert found.code == 1
    assert found.err == (
        'error: Job "resnet" has 2 active pods: delete it and create it again? '
        "No terminal can answer: add --yes\n"
    )


@pytest.mark.parametrize(("answer", "made_anew"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_recreating_needs_confirmation(stage: Stage, answer: str, made_anew: bool) -> None:  # noqa: FBT001 - a column of the table
    stage.answers = answer
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate")
    assert found.code == 0
    assert found.err.startswith(
        'Job "resnet" has 2 active pods: delete it and create it again? [y/N] '
    )
    assert (contract.FRAMEWORK in stage.job("resnet")["metadata"]["labels"]) is made_anew


def test_invalid_labels_are_refused_before_deletion(stage: Stage) -> None:
    before = stage.job("resnet")
    found = stage.run(
        "adopt", "resnet", "--framework", "none", "--min", "5", "--max", "2", "--recreate", "-y"
    )
    assert found.code == 1
    assert "min 5 is above max 2" in found.err
    assert stage.job("resnet") == before


def test_a_job_that_would_be_refused_is_not_deleted(stage: Stage) -> None:
    ceiling = Invalid('spec.parallelism: 64 is above 16, the edl.dev/largest-max of "lab"', 403)
    stage.wrapped = refusing("Job", ceiling, also_dry_runs=True)
    before = stage.job("resnet")
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate")
    assert (found.code, found.out) == (1, "")
    assert found.err == f"error: {ceiling}\n"
    assert stage.job("resnet") == before


def named(prefix: str, asked: list["Json"]) -> "Callable[[PluginCluster], PluginCluster]":
    """A policy allows only Jobs whose names begin so; those of dry runs are noted."""

    class Naming(ClusterWrapper):
        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> "Json":
            if dry_run:
                asked.append(dict(manifest))
            if not target.name.startswith(prefix):
                raise Invalid(f"the name {target.name} does not begin with {prefix}", 422)
            return super().create(target, manifest, dry_run=dry_run)

    return lambda cluster: Naming(completing()(cluster))


@pytest.mark.parametrize("name", ["resnet", "resnet-" + "x" * 56])
def test_policies_see_no_other_name_than_that_of_the_job(stage: Stage, name: str) -> None:
    if name != "resnet":
        stage.create(job(name))
    asked: list[Json] = []
    stage.wrapped = named(name, asked)
    found = stage.run("adopt", name, *ELASTIC, "--recreate", "--yes")
    assert (found.code, found.err) == (0, "")
    assert {one["metadata"]["name"] for one in asked} == {name}
    assert contract.INJECTED_MAX in stage.job(name)["metadata"]["annotations"]


def test_a_policy_on_frameworks_is_not_taken_for_our_webhook(stage: Stage) -> None:
    """Admission looks at the name last, as the API server does."""

    class Policy(ClusterWrapper):
        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> "Json":
            if manifest["metadata"]["labels"][contract.FRAMEWORK] == "unknown":
                raise Invalid("the framework is not one of ours", 422)
            return super().create(target, manifest, dry_run=dry_run)

    stage.wrapped = Policy
    before = stage.job("resnet")
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "--yes")
    assert (found.code, stage.job("resnet")) == (1, before)
    assert found.err.startswith("error: no webhook completes labelled Jobs in namespace default")


def test_a_policy_warns_of_the_new_job_only(stage: Stage) -> None:
    """Not of that with a wrong framework, which only tells whether a webhook reviews it."""
    warned: list[ObjectRef] = []
    stage.wrapped = lambda cluster: warning_of(warned)(completing()(cluster))
    assert stage.run("adopt", "resnet", *ELASTIC, "--recreate", "--yes").code == 0
    assert len(warned) == 2  # the dry run, and the creation


def test_a_job_that_is_gone_meanwhile_is_checked_by_its_dry_run(stage: Stage) -> None:
    class Vanishing(ClusterWrapper):
        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> "Json":
            super().delete(target)
            return super().create(target, manifest, dry_run=dry_run)

    stage.wrapped = Vanishing
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "--yes")
    assert found.err.startswith("error: no webhook completes labelled Jobs in namespace default")


def test_a_new_job_that_is_refused_is_not_lost(stage: Stage) -> None:
    stage.wrapped = through(refusing("Job", Invalid("quota exceeded", 403)))
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y")
    assert found.code == 1
    assert found.err == (
        'error: Job "resnet" was deleted and not created again: quota exceeded; '
        "its manifest is on stdout, for kubectl apply -f -\n"
    )
    assert yaml.safe_load(found.out)["metadata"]["name"] == "resnet"


def test_a_new_job_of_which_only_the_answer_was_lost_is_there(stage: Stage) -> None:
    class Silent(ClusterWrapper):
        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> "Json":
            stored = super().create(target, manifest, dry_run=dry_run)
            if target.kind == "Job" and not dry_run:
                raise Unreachable("no answer")
            return stored

    stage.wrapped = through(Silent)
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y")
    assert (found.code, found.out.startswith("resnet: created again with labels")) == (0, True)


@pytest.mark.parametrize("timeout", ["10", "10s"])
def test_recreating_times_out_if_the_old_job_stays(stage: Stage, timeout: str) -> None:
    class Lasting(ClusterWrapper):
        def delete(self, *_: object, **__: object) -> None:
            """A finalizer holds it."""

    stage.wrapped = through(Lasting)
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y", "--timeout", timeout)
    assert found.code == 1
    assert "it is still there after 10s (a finalizer?); --timeout waits longer" in found.err
    assert stage.run("adopt", "resnet", *ELASTIC, "--timeout", "inf").code == 2


def test_an_interrupt_after_the_deletion_prints_the_manifest(stage: Stage) -> None:
    stage.wrapped = through(refusing("Job", KeyboardInterrupt()))
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y")
    assert "was deleted and not created again: interrupted" in found.err
    assert yaml.safe_load(found.out)["kind"] == "Job"


def deleting(
    error: BaseException, *, after: bool = True
) -> "Callable[[PluginCluster], PluginCluster]":
    """Each deletion ends with this error, after or without being carried out."""

    class Deleting(ClusterWrapper):
        def delete(self, target: ObjectRef, **given: Any) -> None:  # noqa: ANN401 - preconditions
            if after:
                super().delete(target, **given)
            raise error

    return Deleting


@pytest.mark.parametrize(
    ("error", "why"),
    [(Unreachable("no answer"), "no answer"), (KeyboardInterrupt(), "interrupted")],
)
def test_a_deletion_without_an_answer_prints_the_manifest(
    stage: Stage, error: BaseException, why: str
) -> None:
    stage.wrapped = through(deleting(error))
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y")
    assert found.code == 1
    assert found.err == (
        f'error: Job "resnet" may have been deleted and not created again: {why}; '
        "its manifest is on stdout, for kubectl apply -f -\n"
    )
    assert yaml.safe_load(found.out)["metadata"]["labels"][contract.MAX] == "4"


@pytest.mark.parametrize("error", [Forbidden("may not delete jobs", 403), Conflict("changed", 409)])
def test_a_refused_deletion_prints_no_manifest(stage: Stage, error: ClusterError) -> None:
    before = stage.job("resnet")
    stage.wrapped = deleting(error, after=False)
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y")
    assert (found.code, found.out) == (1, "")
    assert "deleted" not in found.err
    assert stage.job("resnet") == before


def test_a_job_of_a_cron_job_is_not_made_anew(stage: Stage) -> None:
    owner = {"kind": "CronJob", "name": "nightly", "controller": True, "uid": "7"}
    stage.patch("resnet", {"metadata": {"ownerReferences": [owner]}})
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y")
    assert found.code == 1
    assert found.err == (
        'error: Job "resnet" is created by CronJob/nightly, which does not set the labels: '
        "kubectl get cronjob nightly -n default -o yaml | kubectl edl adopt -f - "
        "--framework none --min 1 --max 4 | kubectl apply -f -\n"
    )


def test_a_job_of_another_controller_is_not_made_anew(stage: Stage) -> None:
    owner = {"kind": "JobSet", "name": "nightly", "controller": True, "uid": "7"}
    stage.patch("resnet", {"metadata": {"ownerReferences": [owner]}})
    found = stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y")
    assert found.err == (
        'error: Job "resnet" is created by JobSet/nightly, which does not set the labels: '
        "set edl.dev/framework where it takes the labels of its Jobs\n"
    )


def test_an_elastic_job_is_recreated_from_its_last_applied_manifest(stage: Stage) -> None:
    source = job("bert", framework="none", min="1", max="2")
    source["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(source)}
    stage.put(source)
    stage.run("scale", "bert", "--min", "2")
    found = stage.run("adopt", "bert", "--max", "8", "--recreate", "--dry-run", "client")
    assert found.err == ""
    shown = yaml.safe_load(found.out)
    assert shown["metadata"]["labels"] == {
        contract.FRAMEWORK: "none",
        contract.JOB: "bert",
        contract.ROLE: "worker",
        contract.MIN: "2",
        contract.MAX: "8",
    }
    assert shown["spec"] == job("bert")["spec"]
    assert contract.INJECTED_MAX not in shown["metadata"]["annotations"]


@pytest.mark.parametrize("annotations", [{}, {LAST_APPLIED: json.dumps(job("resnet"))}])
def test_an_adopted_job_can_be_adopted_again(stage: Stage, annotations: "Json") -> None:
    stage.patch("resnet", {"metadata": {"annotations": annotations}})
    for size in ("6", "8"):
        found = stage.run("adopt", "resnet", *ELASTIC[:-1], size, "--recreate", "--yes")
        assert (found.code, stage.job("resnet")["metadata"]["labels"][contract.MAX]) == (0, size)
    written = json.loads(stage.job("resnet")["metadata"]["annotations"][LAST_APPLIED])
    assert written["metadata"]["labels"][contract.MAX] == "8"
    assert written["spec"]["parallelism"] == 2
    assert LAST_APPLIED not in written["metadata"]["annotations"]


@pytest.mark.parametrize("options", [(*ELASTIC, "--recreate"), ("--recreate",), ELASTIC])
def test_an_adopted_job_with_the_same_labels_is_left_alone(
    stage: Stage, options: tuple[str, ...]
) -> None:
    source = job("bert", framework="none", min="1", max="4")
    source["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(source)}
    before = stage.put(source)
    found = stage.run("adopt", "bert", *options)
    assert (found.code, found.err, stage.job("bert")) == (0, "", before)
    assert found.out == (
        "bert: adopted already with these labels, and left as it is: kubectl edl status bert\n"
    )


def test_an_elastic_job_of_unknown_source_is_not_guessed(stage: Stage) -> None:
    stage.put(job("bert", framework="none", min="1", max="2"))
    found = stage.run("adopt", "bert", "--max", "8", "--recreate", "-y")
    assert found.code == 1
    assert "from the file: kubectl edl adopt -f FILE …" in found.err
    assert stage.cluster.get(ObjectRef("Job", "default", "bert"))


def elsewhere(manifest: "Json") -> "Json":
    return manifest | {"metadata": manifest["metadata"] | {"namespace": "elsewhere"}}


@pytest.mark.parametrize(
    "applied",
    [*map(json.dumps, (job("original"), elsewhere(job("copy")))), "[]", "{}", "{"],
)
def test_a_copy_is_not_replaced_by_its_original(stage: Stage, applied: str) -> None:
    copy = job("copy", framework="none", min="1", max="2")
    copy["metadata"]["annotations"] = {LAST_APPLIED: applied}
    stage.put(copy)
    found = stage.run("adopt", "copy", "--max", "8", "--recreate", "-y")
    assert (found.code, found.out) == (1, "")
    assert "was not made with kubectl apply" in found.err
    assert stage.job("copy")


def test_a_released_job_is_recreated_from_what_was_applied(stage: Stage) -> None:
    source = job("bert", framework="pytorch", min="2", max="8")
    source["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(source)}
    stage.put(source)
    assert stage.run("release", "bert").code == 0
    asked = ("--framework", "pytorch", "--min", "1", "--max", "6")
    found = stage.run("adopt", "bert", *asked, "--recreate", "--dry-run", "client")
    shown = yaml.safe_load(found.out)
    assert shown["metadata"]["labels"][contract.MIN] == "1"
    assert shown["spec"] == job("bert")["spec"]


def test_a_released_job_of_unknown_source_is_not_recreated(stage: Stage) -> None:
    stage.put(job("bert", framework="pytorch", min="2", max="8"))
    stage.run("release", "bert")
    found = stage.run("adopt", "bert", "--framework", "pytorch", "--max", "6", "--recreate", "-y")
    assert found.code == 1
    assert "was elastic before its release and was not made with kubectl apply" in found.err
    assert stage.cluster.get(ObjectRef("Job", "default", "bert"))


def test_a_job_that_changes_meanwhile_is_read_again(stage: Stage) -> None:
    stage.wrapped = through(overtaken(1))
    assert stage.run("adopt", "resnet", *ELASTIC, "--recreate", "-y").code == 0


def test_a_name_that_is_nearly_right_is_suggested(stage: Stage) -> None:
    found = stage.run("adopt", "resnt", *ELASTIC)
    assert found.code == 3
    assert found.err == (
        'error: no Job "resnt" in namespace default; did you mean resnet? '
        "all of them: kubectl get jobs -A\n"
    )


def cron_job(stage: Stage, **spec: int) -> None:
    """A CronJob of the cluster, without the fields that `kubectl create cronjob` leaves out."""
    template = {"spec": {"template": {"spec": pod_spec()}, **spec}}
    manifest = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}
    stage.create(manifest | {"spec": {"schedule": "@daily", "jobTemplate": template}})


def test_what_a_cron_job_lacks_for_its_labels_is_named_beside_the_command(stage: Stage) -> None:
    cron_job(stage)
    found = stage.run("adopt", "nightly", *ELASTIC)
    assert found.code == 1
    assert found.err.endswith(
        " | kubectl edl adopt -f - --framework none --min 1 --max 4 | kubectl apply -f -; change "
        "before that: cronjob.batch/nightly: spec.jobTemplate.metadata.labels[edl.dev/max]: max 4 "
        "is above spec.completions 1, the default if spec.parallelism is not set either; framework "
        "none counts work items: set spec.completions to their number, or for a work queue only "
        "spec.parallelism\n"
    )


@pytest.mark.parametrize("name", ["nightly", "cronjob/nightly"])
def test_a_cron_job_of_the_cluster_is_adopted_by_a_filter(stage: Stage, name: str) -> None:
    cron_job(stage, parallelism=1)
    found = stage.run("adopt", name, *ELASTIC, "--context", "prod")
    assert found.code == 1
    assert found.err == (
        'error: "nightly" is a CronJob: this command labels the Jobs that it creates: '
        "kubectl get cronjob nightly -n default -o yaml --context prod | kubectl edl adopt -f - "
        "--framework none --min 1 --max 4 | kubectl apply -f - --context prod\n"
    )


def test_neither_a_file_nor_a_job_is_wrong_usage() -> None:
    found = Stage().run("adopt", "--framework", "none")
    assert found.code == 2
    assert "Specify a Job name or -f FILENAME." in found.err


def test_a_manual_selector_is_kept() -> None:
    manifest: Json = job("own") | {"spec": {"manualSelector": True, "selector": {"a": "b"}}}
    manifest["spec"]["template"] = {"spec": {}}
    assert recreated(manifest)["spec"] == manifest["spec"]
