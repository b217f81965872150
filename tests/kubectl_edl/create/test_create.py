import json
import signal
import threading
from collections.abc import Callable, Mapping
from threading import Event
from typing import Any, cast

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.errors import (
    AlreadyExists,
    ClusterError,
    Denied,
    Forbidden,
    Invalid,
    Unreachable,
    WebhookAway,
    WebhookRefused,
)
from edl.frameworks import FRAMEWORKS
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.kube.cluster import ListOptions, PluginCluster, RawList
from edl.model import ObjectRef
from edl.parsing.namespace_policy import SILENT, NamespacePolicy
from edl.parsing.parser import parse
from edl.spec.job_spec import POD_POLICIES
from edl.writes import Json
from kubectl_edl.cli.completion_main import answer
from kubectl_edl.cli.context import ClusterConnection, Scope
from kubectl_edl.create import create_jobs
from kubectl_edl.create.role_options import flags
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import Run, Stage, lease, quota
from tests.kubectl_edl.stage import job as plain_job

MNIST = ("tensorflow", "mnist", "--image", "train:1", "--chief", "--ps", "2", "--workers", "1..12")
COMMAND = ("--", "python", "train.py", "--fast")
CONTEXT = Context(frozenset(), "kubectl-edl:test")


class Completing(ClusterWrapper):
    """An API server with our webhook; `refuses` rejects a real creation."""

    def __init__(
        self,
        cluster: PluginCluster,
        refuses: Mapping[str, BaseException],
        policy: NamespacePolicy = SILENT,
    ) -> None:
        super().__init__(cluster)
        self.refuses = refuses
        self.policy = policy

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        if not dry_run and target.name in self.refuses:
            raise self.refuses[target.name]
        request = AdmissionRequest("CREATE", dict(manifest), None, "ann", self.policy)
        try:
            done = mutate(request, CONTEXT).manifest
        except Denied as denied:
            raise WebhookRefused(str(denied), 422) from None
        return super().create(target, done, dry_run=dry_run)


def completing(**refuses: BaseException) -> Callable[[PluginCluster], PluginCluster]:
    """`mnist_ps=Invalid("no")`: the Job mnist-ps is refused."""
    named = {name.replace("_", "-"): error for name, error in refuses.items()}
    return lambda cluster: Completing(cluster, named)


def written(*args: str) -> list[Json]:
    """What is written for a file."""
    before, _, after = " ".join(args).partition(" -- ")
    place = args.index("--") if "--" in args else len(args)
    options = (*args[:place], "--dry-run", "client", "-o", "yaml", *args[place:])
    found = Offline().run("create", *options)
    assert (found.code, found.err) == (0, ""), (before, after)
    return list(yaml.safe_load_all(found.out))


class Offline(Stage):
    """No cluster at all."""

    def _connect(self, scope: Scope) -> ClusterConnection:
        raise Unreachable(f"no cluster, and nobody should ask for one {scope}")


def names(jobs: list[Json]) -> list[str]:
    return [job["metadata"]["name"] for job in jobs]


def container(job: Json) -> Json:
    (only,) = job["spec"]["template"]["spec"]["containers"]
    return cast("Json", only)


def test_each_role_is_one_job() -> None:
    chief, servers, worker = written(*MNIST, "--cpu", "2", "--memory", "4Gi", *COMMAND)
    assert chief == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "mnist-chief",
            "labels": {
                "edl.dev/framework": "tensorflow",
                "edl.dev/job": "mnist",
                "edl.dev/role": "chief",
            },
            "annotations": {"edl.dev/roles": "chief=1,ps=2,worker=1..12"},
        },
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "OnFailure",
                    "containers": [
                        {
                            "name": "chief",
                            "image": "train:1",
                            "command": ["python", "train.py", "--fast"],
                            "resources": {"requests": {"cpu": "2", "memory": "4Gi"}},
                        }
                    ],
                }
            }
        },
    }
    assert names([servers, worker]) == ["mnist-ps", "mnist-worker"]
    assert servers["spec"]["parallelism"] == 2
    assert parse(worker).all_roles == parse(chief).all_roles


def test_one_role_alone_is_one_job_with_its_bounds() -> None:
    (alone,) = written("tensorflow", "mnist", "--image", "i", "--workers", "2..4")
    assert alone["metadata"] == {
        "name": "mnist",
        "labels": {
            "edl.dev/framework": "tensorflow",
            "edl.dev/min": "2",
            "edl.dev/max": "4",
        },
    }
    assert alone["spec"]["parallelism"] == 2
    (fixed,) = written("none", "sweep", "--image", "i", "--worker", "3")
    assert fixed["metadata"]["labels"] == {"edl.dev/framework": "none"}
    assert fixed["spec"]["parallelism"] == 3
    (least,) = written("none", "sweep", "--image", "i")
    assert least["spec"]["parallelism"] == 1


def test_work_items_are_for_frameworks_that_have_them() -> None:
    (sweep,) = written("none", "sweep", "--image", "i", "--workers", "2..16", "--completions", "40")
    spec = sweep["spec"]
    assert (spec["completions"], spec["completionMode"]) == (40, "Indexed")
    assert Offline().run("create", *MNIST, "--completions", "4").code == 2
    few = Offline().run(
        "create", "none", "sweep", "--image", "i", "--workers", "9", "--completions", "4"
    )
    what = "9, which also sets max, is above spec.completions 4"
    assert few.err.startswith(f"error: --workers: {what}; ")


def test_roles_with_exactly_one_replica_are_added() -> None:
    assert names(written("horovod", "h", "--image", "i", "--workers", "1..3")) == [
        "h-launcher",
        "h-worker",
    ]


def test_the_command_is_for_roles_that_have_none_of_their_own() -> None:
    launcher, worker = written(
        "horovod", "h", "--image", "i", "--workers", "1..3", "--", "horovodrun", "-np", "1"
    )
    assert container(launcher)["command"] == ["horovodrun", "-np", "1"]
    assert "command" not in container(worker)


def test_a_value_for_one_role_overrides_the_common_value() -> None:
    chief, servers, worker = written(
        *MNIST,
        *("--cpu", "ps=1", "--cpu", "4", "--memory", "workers=8Gi", "--image", "ps=serve:1"),
        *("--gpu", "2", "--set", "gpu-class=gpu.x"),
    )
    requests = [container(job).get("resources", {}).get("requests") for job in (chief, servers)]
    assert requests == [{"cpu": "4"}, {"cpu": "1"}]
    assert container(worker)["resources"]["requests"] == {"cpu": "4", "memory": "8Gi"}
    assert container(servers)["image"] == "serve:1"
    gpus = [job["metadata"]["labels"].get(contract.GPU) for job in (chief, servers, worker)]
    assert gpus == ["2", None, "2"]
    notes = [job["metadata"]["annotations"] for job in (chief, servers, worker)]
    assert [one.get(contract.GPU_CLASS) for one in notes] == ["gpu.x", None, "gpu.x"]


def test_variables_claims_and_the_rest_are_in_every_pod() -> None:
    jobs = written(
        *MNIST,
        *("-e", "MODE=fast=yes", "-e", "EMPTY=", "--pvc", "data.v1:/data", "--pvc", "data.v1:/out"),
        *("--priority-class", "high", "--slots", "2", "--mode", "ps", "-n", "team"),
        *("--gpu", "0.5", "--gpu-memory", "3Gi"),
        *("--node-selector", "pool=gpu,zone=a", "--node-selector", "spot="),
    )
    for job in jobs:
        pod = job["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"pool": "gpu", "zone": "a", "spot": ""}
        assert pod["priorityClassName"] == "high"
        assert pod["volumes"] == [
            {"name": "data-v1", "persistentVolumeClaim": {"claimName": "data.v1"}}
        ]
        assert [mount["mountPath"] for mount in container(job)["volumeMounts"]] == ["/data", "/out"]
        assert container(job)["env"] == [
            {"name": "MODE", "value": "fast=yes"},
            {"name": "EMPTY", "value": ""},
        ]
        assert job["metadata"]["namespace"] == "team"
        assert job["metadata"]["annotations"][contract.SLOTS] == "2"
        assert job["metadata"]["annotations"][contract.MODE] == "ps"
    assert jobs[0]["metadata"]["labels"][contract.GPU_MEMORY] == "3Gi"


def test_all_findings_are_reported_with_option_names() -> None:
    found = Offline().run(
        "create",
        *("horovod", "my_job", "--ps", "3", "--workers", "3..1", "--cpu", "x", "--gpu", "-1"),
        *("--gpu-memory", "ps=1Gi", "--env", "A", "--pvc", "data", "--slots", "0"),
        *("--node-selector", "gpu"),
    )
    assert (found.code, found.out) == (2, "")
    lines = [line.removeprefix("error: ") for line in found.err.splitlines()]
    assert lines[0] == '--ps: horovod has no role "ps"; it has --launcher, --workers'
    assert lines[1] == '--workers: "3..1" is not a size; min 3 is above max 1'
    places = dict.fromkeys(line.partition(":")[0] for line in lines)
    assert list(places) == [
        "--ps",
        "--workers",
        "--cpu",
        "--gpu-memory",
        "--env",
        "--pvc",
        "--node-selector",
        "--image",
        "NAME",
        "--slots",
        "--gpu",
    ]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (("--workers", "many"), '--workers: "many" is not a size; write a number, or a range as'),
        (("--workers", "0"), '--workers: "0" is not a size; from 1: a role of 0 ends at once'),
        (
            ("--workers", "1..99999999999999999999"),
            '--workers: "1..99999999999999999999" is not a size; 100,000 at most: the API server',
        ),
        (("--workers", "100001"), '--workers: "100001" is not a size; 100,000 at most'),
        (("--chief=2", "--workers", "2"), "--chief: 2 × chief; tensorflow has exactly one"),
        (("--ps", "2"), "roles: none of its roles decides when tensorflow is done; "),
        (("--ps", "1..3", "--workers", "2"), "--ps: a ps is never resized; "),
        (("--workers", "2", "--mode", "ps"), '--mode: "ps" does not fit; one of '),
    ],
)
def test_a_list_of_roles_that_makes_no_sense_is_explained(
    sizes: tuple[str, ...], words: str
) -> None:
    found = Offline().run("create", "tensorflow", "mnist", "--image", "i", *sizes)
    assert found.code == 2
    assert found.err.startswith(f"error: {words}")


def test_a_role_of_another_framework_is_named_as_its_option_was_spelled() -> None:
    found = Offline().run("create", "pytorch", "net", "--image", "i", "--chief")
    assert (
        found.err == 'error: --chief: pytorch has no role "chief"; it has --rendezvous, --workers\n'
    )


def test_several_mxnet_workers_without_servers_are_refused_with_the_missing_roles() -> None:
    found = Offline().run("create", "mxnet", "m", "--image", "i", "--workers", "1..4")
    assert found.code == 2
    assert found.err == (
        "error: --workers: 4 × worker; mode local has exactly one; for more, list all roles: "
        "add --servers\n"
    )


def test_a_single_worker_without_servers_is_a_hint() -> None:
    stage = Stage()
    stage.wrapped = completing()
    asked = ("create", "mxnet", "m", "--image", "i", "--cpu", "1")
    found = stage.run(*asked)
    assert found.code == 0
    assert found.err == (
        "hint: worker by itself: mode local has exactly one; for more, list all roles: "
        "add --servers\n"
    )
    assert stage.run(*asked[:2], "meant", *asked[3:], "--mode", "local").err == ""


def test_an_ambiguous_role_is_required() -> None:
    found = Offline().run("create", "horovod", "h", "--image", "i", "--launcher")
    assert found.err == "error: roles: horovod needs a worker; add --workers\n"


def test_an_image_may_be_missing_for_one_role() -> None:
    found = Offline().run("create", *MNIST[:2], *MNIST[4:], "--image", "ps=serve")
    assert [line.partition("; ")[0] for line in found.err.splitlines()] == [
        "error: --image: chief has none",
        "error: --image: worker has none",
    ]


def test_every_user_annotation_can_be_set() -> None:
    jobs = written(*MNIST, "--set", "clean-up=All", "--set", "port=2223")
    for job in jobs:
        assert job["metadata"]["annotations"][contract.CLEAN_UP] == "All"
        assert job["metadata"]["annotations"][contract.PORT] == "2223"
    found = Offline().run("create", *MNIST, "--set", "colour=red", "--set", "clean-up=Some")
    lines = found.err.splitlines()
    assert lines[0].startswith('error: --set: "colour" is not a setting; one of ')
    assert lines[1].startswith('error: --set clean-up: unknown "Some"; one of Running, All')


@pytest.mark.parametrize("restart", contract.RestartPolicy)
def test_pods_have_the_restart_policy_that_the_setting_needs(
    restart: contract.RestartPolicy,
) -> None:
    for job in written(*MNIST, "--set", f"restart={restart}"):
        assert job["spec"]["template"]["spec"]["restartPolicy"] == POD_POLICIES[restart]


def test_a_command_that_no_role_would_run_is_refused() -> None:
    sizes = ("--mode", "cloud", "--pservers", "2", "--trainers", "2")
    found = Offline().run("create", "paddle", "p", "--image", "i", *sizes, "--", "train")
    assert found.err == (
        "error: COMMAND: every role here has a command of its own; leave it out; workers run what "
        "--set entrypoint='COMMAND' names\n"
    )
    made = written("paddle", "p", "--image", "i", *sizes, "--set", "entrypoint=train")
    assert {one["metadata"]["annotations"][contract.ENTRYPOINT] for one in made} == {"train"}


def test_an_unknown_framework_is_wrong_usage() -> None:
    assert (
        'unknown framework "tensorflo" for "kubectl edl create"; did you mean tensorflow?'
        in created("tensorflo", "x").err
    )
    found = created("caffe", "x")
    assert found.code == 2
    assert f"one of {', '.join(FRAMEWORKS)}" in found.err


def created(*args: str, stage: Stage | None = None) -> Run:
    return (stage or Stage(wrapped=completing())).run("create", *args)


def stored(stage: Stage) -> list[str]:
    items = stage.cluster.list(ListOptions("Job")).items
    return [json.loads(item)["metadata"]["name"] for item in items]


def test_all_jobs_are_created_and_can_be_applied_again() -> None:
    stage = Stage(wrapped=completing())
    found = created(*MNIST, *COMMAND, "<&>", stage=stage)
    assert (found.code, found.err) == (0, "")
    assert found.out.splitlines() == [
        "job.batch/mnist-chief created: chief=1",
        "job.batch/mnist-ps created: ps=2",
        "job.batch/mnist-worker created: worker=1..12",
    ]
    live = stage.job("mnist-worker")
    assert live["spec"]["suspend"] is True
    (*_, source) = written(*MNIST, *COMMAND, "<&>")
    text = live["metadata"]["annotations"][contract.LAST_APPLIED]
    assert json.loads(text) == source | {"metadata": source["metadata"] | {"namespace": "default"}}
    assert "\\u003c\\u0026\\u003e" in text


@pytest.mark.parametrize(
    ("size", "made"), [("4", "4..6"), ("4..4", "4"), ("1..2", "1..2"), ("8", "8")]
)
def test_the_range_that_a_namespace_makes_of_a_size_is_printed(size: str, made: str) -> None:
    policy = NamespacePolicy("lab", default_max=6)
    stage = Stage(wrapped=lambda cluster: Completing(cluster, {}, policy))
    found = created("none", "sweep", "--image", "i", "--workers", size, stage=stage)
    assert found.out == f"job.batch/sweep created: worker={made}\n"


def test_create_hints_at_a_missing_leader() -> None:
    stage = Stage(wrapped=completing())
    lease(stage, minutes_ago=1)
    found = stage.run("create", *MNIST, *COMMAND)
    assert found.code == 0
    assert found.err.startswith("hint: no reconciler is running (Lease edl-system/edl-reconciler")


def test_pods_that_claim_devices_are_bounded_by_them_without_cpu_and_memory() -> None:
    devices = ("--gpu", "1", "--set", "gpu-class=gpu.x")
    found = created("none", "dra", "--image", "i", "--workers", "1..2", *devices)
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize(("memory", "hinted"), [("4", True), ("1Mi", False)])
def test_memory_without_a_unit_is_a_hint(memory: str, *, hinted: bool) -> None:
    stage = Stage(wrapped=completing())
    found = stage.run("create", *MNIST, "--cpu", "1", "--memory", f"ps={memory}", *COMMAND)
    hint = "hint: pods of ps request 4 bytes of memory: is a unit missing?\n"
    assert (hint in found.err) is hinted


def test_a_priority_class_that_is_not_there_is_a_hint() -> None:
    stage = Stage(wrapped=completing())
    high = ObjectRef("PriorityClass", "", "high")
    stage.cluster.create(high, {"metadata": {"name": "high"}, "value": 5})
    usual = (*MNIST, "--cpu", "2", "--priority-class")
    assert stage.run("create", *usual, "high", *COMMAND).err == ""
    found = stage.run("create", *(usual[0], "other", *usual[2:]), "nope", *COMMAND)
    assert found.code == 0
    assert found.err == (
        'hint: nothing starts: PriorityClass "nope" does not exist: create it '
        "(kubectl create priorityclass nope --value=VALUE), or recreate the Jobs with another\n"
    )


HOROVOD = ("create", "horovod", "ring", "--image", "i", "--cpu", "1", "--workers", "2")
ALLOW = "kubectl label namespace default edl.dev/kubexec=enabled"


def namespace(stage: Stage, **labels: str) -> None:
    named = {f"edl.dev/{name}": value for name, value in labels.items()}
    body = {"kind": "Namespace", "metadata": {"name": "default", "labels": named}}
    stage.cluster.create(ObjectRef("Namespace", "", "default"), body)


def test_what_the_webhook_warns_of_is_not_repeated_as_a_hint() -> None:
    """The webhook warns that the namespace lets no launcher exec, on behalf of each client."""
    stage = Stage(wrapped=completing())
    namespace(stage)
    found = stage.run(*HOROVOD)
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize("line", [HOROVOD, (*HOROVOD, "--mode", "ssh")], ids=["kubexec", "ssh"])
def test_launchers_with_the_right_to_exec_or_ssh_give_no_hint(line: tuple[str, ...]) -> None:
    stage = Stage(wrapped=completing())
    namespace(stage, **({} if "ssh" in line else {"kubexec": "enabled"}))
    assert stage.run(*line).err == ""


@pytest.mark.parametrize("framework", ["horovod", "aiacc"])
def test_help_says_how_a_launcher_reaches_its_workers(
    framework: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Stage().run("create", framework, "--help").code == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "kubexec (default): by kubectl exec, which the namespace must allow" in words
    assert "ssh: by ssh, with keys of this training job" in words


def test_a_namespace_that_may_not_be_read_is_a_hint_with_its_condition() -> None:
    class Private(Completing):
        def get(self, target: ObjectRef) -> Json:
            if target.kind == "Namespace":
                raise Forbidden('"ann" may not get namespaces default', 403)
            return super().get(target)

    stage = Stage(wrapped=lambda cluster: Private(cluster, {}))
    assert stage.run(*HOROVOD).err == (
        "hint: whether namespace default lets launchers exec into workers is unknown; in mode "
        f'kubexec the job waits until it does: {ALLOW}: "ann" may not get namespaces default\n'
    )


def test_a_claim_that_is_not_there_is_a_hint() -> None:
    stage = Stage(wrapped=completing())
    claim = ObjectRef("PersistentVolumeClaim", "default", "data")
    stage.cluster.create(claim, {"metadata": {"name": "data"}})
    usual = ("--cpu", "2", "--pvc")
    assert stage.run("create", *MNIST, *usual, "data:/data", *COMMAND).err == ""
    other = (MNIST[0], "other", *MNIST[2:])
    assert stage.run("create", *other, *usual, "nope:/data", *COMMAND).err == (
        'hint: there is no PersistentVolumeClaim "nope" in namespace default: '
        "the job waits in the queue until it is created\n"
    )


def test_pods_with_requests_give_no_hint() -> None:
    stage = Stage(wrapped=completing())
    assert stage.run("create", *MNIST, "--cpu", "2", *COMMAND).err == ""


@pytest.mark.parametrize("workers", ["2", "1..4"])
def test_pods_without_requests_that_a_quota_refuses_are_a_hint(workers: str) -> None:
    stage = Stage(wrapped=completing())
    stage.create(quota("requests.cpu", "requests.memory"))
    usual = ("none", "sweep", "--image", "i", "--workers", workers)
    assert stage.run("create", *usual).err == (
        'hint: nothing starts: worker: ResourceQuota "compute" refuses its pods: container '
        '"worker" sets no requests.cpu and no requests.memory; set them, or create a LimitRange '
        "with defaults\n"
    )
    named = (*usual[:1], "other", *usual[2:], "--cpu", "1", "--memory", "1Gi")
    assert stage.run("create", *named).err == ""


@pytest.mark.parametrize(
    "trouble", [Forbidden("no", 403), Unreachable("no answer")], ids=["forbidden", "away"]
)
def test_unreadable_quotas_give_no_error(trouble: ClusterError) -> None:
    class Closed(Completing):
        def list(self, selection: ListOptions) -> RawList:
            if selection.kind == "ResourceQuota":
                raise trouble
            return super().list(selection)

    stage = Stage(wrapped=lambda cluster: Closed(cluster, {}))
    found = created(*MNIST, stage=stage)
    assert (found.code, found.out.count(" created: ")) == (0, 3)
    assert found.err == ""


def test_a_created_job_can_be_recreated_with_other_labels() -> None:
    stage = Stage(wrapped=completing())
    created("none", "sweep", "--image", "i", "--workers", "1..4", "--cpu", "1", stage=stage)
    found = stage.run("adopt", "sweep", "--max", "8", "--recreate", "--yes")
    assert (found.code, found.err) == (0, "")
    assert stage.job("sweep")["metadata"]["annotations"][contract.INJECTED_MAX] == "8"


@pytest.mark.parametrize(
    ("dry_run", "remark"), [("client", " (dry run)"), ("server", " (server dry run)")]
)
def test_a_dry_run_creates_nothing(dry_run: str, remark: str) -> None:
    stage = Stage(wrapped=completing())
    found = created(*MNIST, "--dry-run", dry_run, stage=stage)
    assert found.out.splitlines()[0] == f"job.batch/mnist-chief created{remark}: chief=1"
    assert stored(stage) == []


def test_a_server_dry_run_prints_the_stored_job() -> None:
    found = created(*MNIST, "--dry-run", "server", "-o", "json")
    listed = json.loads(found.out)
    assert listed["kind"] == "List"
    assert all(item["spec"]["suspend"] for item in listed["items"])
    assert contract.INJECTED_MAX in listed["items"][0]["metadata"]["annotations"]


def test_stored_jobs_are_printed_without_managed_fields() -> None:
    class Managing(Completing):
        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            made = super().create(target, manifest, dry_run=dry_run)
            return made | {"metadata": made["metadata"] | {"managedFields": [{"manager": "x"}]}}

    stage = Stage(wrapped=lambda cluster: Managing(cluster, {}))
    for form in ("json", "yaml"):
        found = created("none", form, "--image", "i", "-o", form, stage=stage)
        (stored,) = yaml.safe_load_all(found.out)
        assert stored["metadata"]["uid"]
        assert "managedFields" not in stored["metadata"]


def test_names_are_printed_for_other_programs() -> None:
    found = created(*MNIST, "-o", "name")
    assert found.out.split() == [
        "job.batch/mnist-chief",
        "job.batch/mnist-ps",
        "job.batch/mnist-worker",
    ]


def test_flags_may_precede_the_framework() -> None:
    stage = Stage(wrapped=completing())
    assert created("-n", "default", *MNIST, stage=stage).code == 0
    assert stage.run("-n", "default", "create", *MNIST).code == 1
    assert len(stored(stage)) == 3


def test_an_existing_training_job_is_one_error_with_one_remedy() -> None:
    stage = Stage(wrapped=completing())
    created(*MNIST, stage=stage)
    stage.cluster.delete(ObjectRef("Job", "default", "mnist-worker"))
    found = created(*MNIST, stage=stage)
    assert found.code == 1
    assert found.err == (
        "error: training job mnist: exists already in namespace default, "
        "with mnist-chief, mnist-ps; another NAME, or: kubectl edl delete mnist -n default; "
        "for mnist-worker alone: the same command with -o yaml --dry-run client "
        "| kubectl apply -n default -f -\n"
    )
    assert stored(stage) == ["mnist-chief", "mnist-ps"]


def test_an_ordinary_job_of_the_name_is_refused_before_creation() -> None:
    stage = Stage(wrapped=completing())
    stage.create(plain_job("mnist-ps"))
    found = created(*MNIST, stage=stage)
    assert found.code == 1
    assert found.err == (
        "error: job.batch/mnist-ps: exists already in namespace default; "
        "another NAME, or: kubectl delete job mnist-ps -n default\n"
    )
    assert stored(stage) == ["mnist-ps"]


def test_a_training_job_of_the_same_name_gets_no_other_jobs_into_its_roles() -> None:
    stage = Stage(wrapped=completing())
    created(*MNIST, stage=stage)
    found = created("tensorflow", "mnist", "--image", "train:1", stage=stage)
    assert found.code == 1
    assert found.err == (
        "error: training job mnist: exists already in namespace default, "
        "with mnist-chief, mnist-ps, mnist-worker; "
        "another NAME, or: kubectl edl delete mnist -n default\n"
    )
    assert len(stored(stage)) == 3


def test_jobs_created_before_a_refusal_are_deleted() -> None:
    stage = Stage(wrapped=completing(mnist_worker=Invalid("exceeded quota: jobs", 403)))
    found = created(*MNIST, stage=stage)
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "error: job.batch/mnist-worker: exceeded quota: jobs; "
        "what was created is deleted again: mnist-chief, mnist-ps\n"
    )
    assert stored(stage) == []


def test_a_first_job_that_is_refused_leaves_nothing() -> None:
    stage = Stage(wrapped=completing(mnist_chief=KeyboardInterrupt()))
    found = created(*MNIST, stage=stage)
    assert found.err == "error: job.batch/mnist-chief: interrupted; nothing was created\n"


def test_jobs_that_cannot_be_deleted_are_named_with_the_command() -> None:
    class Stubborn(Completing):
        def delete(self, target: ObjectRef, **_: object) -> None:
            raise Unreachable(f"no answer for {target.name}")

    refuses = {"mnist-worker": Unreachable("no answer")}
    stage = Stage(wrapped=lambda cluster: Stubborn(cluster, refuses))
    found = created(*MNIST, stage=stage)
    assert found.err == (
        "error: job.batch/mnist-worker: no answer; "
        "may still be there: "
        "kubectl delete job mnist-chief mnist-ps -n default --ignore-not-found\n"
    )


def test_a_job_with_an_unknown_creation_is_named_too() -> None:
    class Gone(Completing):
        """The API server is away from the second Job on."""

        away = False

        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            self.away = self.away or (target.name == "mnist-ps" and not dry_run)
            self.answer()
            return super().create(target, manifest, dry_run=dry_run)

        def get(self, target: ObjectRef) -> Json:
            self.answer()
            return super().get(target)

        def delete(self, *_: object, **__: object) -> None:
            self.answer()

        def answer(self) -> None:
            if self.away:
                raise Unreachable("no answer")

    stage = Stage(wrapped=lambda cluster: Gone(cluster, {}))
    found = created(*MNIST, stage=stage)
    assert found.err.endswith(
        "kubectl delete job mnist-chief -n default --ignore-not-found; "
        "perhaps created, perhaps by another run; look first: "
        "kubectl get job mnist-ps -n default -o yaml\n"
    )


@pytest.mark.parametrize("failures", [0, 1])
def test_a_job_with_a_lost_answer_is_named(failures: int) -> None:
    """An equal one may be that of a second run. The look after it may have no answer either."""
    left = [failures]

    class Silent(Completing):
        def get(self, target: ObjectRef) -> Json:
            if left and left[0] and target.name == "mnist-ps":
                left.clear()
                raise Unreachable("no answer")
            return super().get(target)

        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            made = super().create(target, manifest, dry_run=dry_run)
            if target.name == "mnist-ps" and not dry_run:
                raise Unreachable("no answer")
            return made

    stage = Stage(wrapped=lambda cluster: Silent(cluster, {}))
    found = created(*MNIST, stage=stage)
    assert found.err == (
        "error: job.batch/mnist-ps: no answer; "
        "what was created is deleted again: mnist-chief; "
        "perhaps created, perhaps by another run; look first: "
        "kubectl get job mnist-ps -n default -o yaml\n"
    )
    assert stored(stage) == ["mnist-ps"]


def test_a_job_of_the_same_name_by_another_client_is_not_taken_back() -> None:
    class Stolen(Completing):
        """mnist-chief is deleted by somebody who creates his own, before the next one."""

        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            if target.name == "mnist-ps" and not dry_run:
                chief = ObjectRef("Job", "default", "mnist-chief")
                self._cluster.delete(chief)
                self._cluster.create(chief, {"metadata": {"name": "mnist-chief"}})
                raise AlreadyExists("exists already")
            return super().create(target, manifest, dry_run=dry_run)

    stage = Stage(wrapped=lambda cluster: Stolen(cluster, {}))
    assert created(*MNIST, stage=stage).code == 1
    assert stored(stage) == ["mnist-chief"]


@pytest.mark.parametrize(
    "answer",
    [
        AlreadyExists('jobs.batch "mnist-chief" already exists', 409),
        Forbidden("may not create jobs", 403),
        Unreachable("too many requests", 429),
        WebhookAway("the webhook did not answer", 500),
    ],
    ids=["it exists", "a missing right", "too many requests", "the webhook is away"],
)
def test_an_equal_job_of_a_second_run_stays_after_an_answer(answer: ClusterError) -> None:
    class Twin(Completing):
        """The same command, started twice, is a moment faster elsewhere."""

        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            made = super().create(target, manifest, dry_run=dry_run)
            if not dry_run:
                raise answer
            return made

    stage = Stage(wrapped=lambda cluster: Twin(cluster, {}))
    found = created(*MNIST, stage=stage)
    text = f"error: job.batch/mnist-chief: {answer}; nothing was created"
    assert found.err.splitlines()[0] == text
    assert stored(stage) == ["mnist-chief"]


def test_a_job_of_another_client_is_not_said_to_be_deleted() -> None:
    """Whether it is the one with the lost answer is not known either."""
    away: list[str] = []

    class Silent(Completing):
        def get(self, target: ObjectRef) -> Json:
            if away:
                raise Unreachable(away.pop())
            return super().get(target)

        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            if dry_run:
                return super().create(target, manifest, dry_run=True)
            self._cluster.create(target, {"metadata": {"name": target.name}})
            away.append("no answer")
            raise Unreachable("no answer")

    stage = Stage(wrapped=lambda cluster: Silent(cluster, {}))
    found = created(*MNIST, stage=stage)
    assert found.err == (
        "error: job.batch/mnist-chief: no answer; "
        "perhaps created, perhaps by another run; look first: "
        "kubectl get job mnist-chief -n default -o yaml\n"
    )
    assert stored(stage) == ["mnist-chief"]


class Interrupted(Completing):
    """Ctrl-C comes while mnist-ps is created, which takes until `answers` is set."""

    answers: Event

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        if target.name == "mnist-ps" and not dry_run:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            self.answers.wait()
        return super().create(target, manifest, dry_run=dry_run)


def interrupted(answers: Event) -> Stage:
    def wrapped(cluster: PluginCluster) -> PluginCluster:
        wrapper = Interrupted(cluster, {})
        wrapper.answers = answers
        return wrapper

    return Stage(wrapped=wrapped)


def test_ctrl_c_deletes_the_job_that_is_just_created(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Event()

    class Arriving(Event):
        def set(self) -> None:
            super().set()
            answers.set()

    monkeypatch.setattr(create_jobs, "Event", Arriving)
    stage = interrupted(answers)
    found = created(*MNIST, stage=stage)
    assert found.err == (
        "error: job.batch/mnist-ps: interrupted; "
        "what was created is deleted again: mnist-chief, mnist-ps\n"
    )
    assert stored(stage) == []


def test_ctrl_c_waits_some_seconds_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Event()
    monkeypatch.setattr(create_jobs, "_PATIENCE", 0.01)
    stage = interrupted(answers)
    found = created(*MNIST, stage=stage)
    assert stored(stage) == []
    answers.set()
    assert found.err == (
        "error: job.batch/mnist-ps: interrupted; "
        "what was created is deleted again: mnist-chief; "
        "perhaps created, perhaps by another run; look first: "
        "kubectl get job mnist-ps -n default -o yaml\n"
    )


def test_a_second_ctrl_c_during_the_deletion_names_what_remains() -> None:
    class Impatient(Completing):
        def delete(self, *_: object, **__: object) -> None:
            raise KeyboardInterrupt

    refuses = {"mnist-worker": Forbidden("no more")}
    stage = Stage(wrapped=lambda cluster: Impatient(cluster, refuses))
    found = created(*MNIST, stage=stage)
    assert found.err == (
        "error: job.batch/mnist-worker: no more; may still be there: "
        "kubectl delete job mnist-chief mnist-ps -n default --ignore-not-found\n"
    )
    assert stored(stage) == ["mnist-chief", "mnist-ps"]


def test_without_a_webhook_nothing_is_created() -> None:
    stage = Stage()
    found = created(*MNIST, stage=stage)
    assert found.code == 1
    assert found.err.startswith("error: no webhook completes labelled Jobs in namespace default")
    assert stored(stage) == []


def test_frameworks_roles_and_modes_are_completed() -> None:
    cli = Stage().cli()
    offered = answer(["create", ""], cli).splitlines()
    assert [line.partition("\t")[0] for line in offered] == [*FRAMEWORKS, ":4"]
    options = answer(["create", "horovod", "h", "--"], cli)
    assert "--workers" in options
    assert "--ps" not in options
    modes = dict.fromkeys(mode.name for mode in FRAMEWORKS["paddle"].modes)
    assert answer(["create", "paddle", "p", "--mode", ""], cli).split() == [*modes, ":4"]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_help_of_a_framework_names_its_roles_and_has_two_examples(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Stage().run("create", name, "--help").code == 0
    text = capsys.readouterr().out
    assert all(flag in text for kind in FRAMEWORKS[name].roles for flag in flags(kind))
    assert text.count(f"  kubectl edl create {name}") >= 2
    assert max(map(len, text.splitlines())) <= 100


# -- laws ------------------------------------------------------------------------------------------


@st.composite
def role_lists(draw: st.DrawFn) -> tuple[str, ...]:
    """A framework, and sizes that each of its roles would take."""
    framework = FRAMEWORKS[draw(st.sampled_from(list(FRAMEWORKS)))]
    mode = draw(st.sampled_from(framework.modes))
    known = [kind for kind in framework.roles if not mode.roles or kind.name in mode.roles]
    chosen = draw(st.lists(st.sampled_from(known), unique_by=lambda kind: kind.name))
    words: list[str] = []
    for kind in chosen:
        low = draw(st.integers(1, 3))
        high = draw(st.integers(low, 5)) if kind.resizable else low
        size = "1" if kind.single else f"{low}..{high}" if high > low else str(low)
        words += [draw(st.sampled_from(flags(kind))), size]
    return (framework.name, "demo", "--image", "i", *words)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(role_lists())
def test_written_manifests_pass_the_webhook(args: tuple[str, ...]) -> None:
    found = Offline().run("create", *args, "--dry-run", "client", "-o", "yaml", "--", "train")
    if found.code:
        assert all(line.startswith("error: ") for line in found.err.splitlines())
        return
    jobs = list(yaml.safe_load_all(found.out))
    specs = [parse(job) for job in jobs]
    assert all(spec.all_roles == specs[0].all_roles for spec in specs)
    assert sorted(spec.role for spec in specs) == sorted(
        bounds.role for bounds in specs[0].all_roles
    )
    for job in jobs:
        stored = mutate(AdmissionRequest("CREATE", job, None, "ann"), CONTEXT).manifest
        assert contract.INJECTED_MAX in stored["metadata"]["annotations"]


@pytest.mark.parametrize("image", ["", "ps=", "a b", "ps=train:1\t"])
def test_an_image_that_is_none_is_refused(image: str) -> None:
    sizes = ("--chief", "--ps", "1", "--workers", "2", "--image", "train:1")
    found = Offline().run("create", "tensorflow", "mnist", *sizes, "--image", image)
    name = image.removeprefix("ps=")
    said = f'error: --image: "{name}" is not an image; write one such as registry.'
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(said)


TOPOLOGY = (
    "--required-topology",
    "topology.kubernetes.io/zone",
    "--required-topology",
    "worker=rack",
)
PREFERRED = ("--preferred-topology", "example.com/block,example.com/rack")


def test_a_topology_is_on_every_job() -> None:
    done = Stage().run("create", *MNIST, *TOPOLOGY, *PREFERRED, "--dry-run", "client", "-o", "json")
    for one in json.loads(done.out)["items"]:
        notes = one["metadata"]["annotations"]
        assert notes[contract.REQUIRED_TOPOLOGY] == "topology.kubernetes.io/zone,worker=rack"
        assert notes[contract.PREFERRED_TOPOLOGY] == "example.com/block,example.com/rack"


def test_an_invalid_topology_is_a_finding_on_its_option() -> None:
    found = Stage().run("create", *MNIST, "--required-topology", "boss=rack", "--dry-run", "client")
    assert found.code == 2
    assert '--required-topology: it has no role "boss"; one of chief, ps, worker' in found.err
