import pytest

from edl.convert import convert
from edl.writes import Json
from tests.edl.convert.documents import jobs, paths, replica

UNREAD = [
    ("kubeflow.org/v1", "XGBoostJob"),
    ("kubeflow.org/v1", "JAXJob"),
    ("kubeflow.org/v1alpha1", "ChainerJob"),
    ("kubeflow.org/v1alpha1", "Caffe2Job"),
    ("xgboostjob.kubeflow.org/v1alpha1", "XGBoostJob"),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ("mlkube.io/v1beta1", "TfJob"),
    ("tensorflow.org/v1alpha1", "TfJob"),
    ("batch.paddlepaddle.org/v1", "PaddleJob"),
    ("elasticdeeplearning.ai/v1", "AITrainingJob"),
    ("ray.io/v1", "RayJob"),
    ("batch.volcano.sh/v1alpha1", "Job"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("workload.codeflare.dev/v1beta2", "AppWrapper"),
]
OTHERS = [
    ("kubeflow.org/v1", "Notebook"),
    ("kubeflow.org/v1", "Profile"),
    ("kubeflow.org/v1beta1", "Experiment"),
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"),
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"),
    ("batch.paddlepaddle.org/v1alpha1", "SampleSet"),
    ("batch.paddlepaddle.org/v1alpha1", "SampleJob"),
    ("sharedgpu.goc/v1", "GPU"),
    ("example.com/v1", "XGBoostJob"),
    ("v1", "PaddleJob"),
]
MASTER = {"Master": replica("paddle"), "Worker": replica("paddle", 2)}


def document(version: str, kind: str, **spec: object) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, "spec": spec}


@pytest.mark.parametrize(("version", "kind"), UNREAD)
def test_a_training_job_that_is_not_read_is_left_and_named(version: str, kind: str) -> None:
    found = jobs(document(version, kind))
    assert found.manifests == (document(version, kind),)
    assert paths(found) == ["kind"]
    (remark,) = found.dropped
    assert remark.what.startswith(f"{kind} ")
    assert remark.what.endswith(": left as it is")
    assert (remark.instead, found.notes) == (
        "its operator would run it: leave it out, or write its Jobs yourself",
        (),
    )


@pytest.mark.parametrize(("version", "kind"), OTHERS)
def test_an_unknown_kind_is_not_converted(version: str, kind: str) -> None:
    assert convert(document(version, kind)) is None


def test_a_paddlejob_with_a_master_is_left_and_named() -> None:
    paddle = document("kubeflow.org/v1", "PaddleJob", paddleReplicaSpecs=MASTER)
    found = jobs(paddle)
    assert found.manifests == (paddle,)
    (remark,) = found.dropped
    assert str(remark).startswith("kind: PaddleJob with a Master has no mode here: left as it is;")


@pytest.mark.parametrize("kind", [["PaddleJob"], {"PaddleJob": 1}, 7, None])
def test_a_kind_that_is_not_a_string_is_not_converted(kind: object) -> None:
    assert convert({"apiVersion": "kubeflow.org/v1", "kind": kind}) is None


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_a_job_in_a_queue_of_kueue_is_left_and_named(kind: str) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "team-a"}
    job = {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "one", "labels": labels}}
    found = jobs(job)
    assert found.manifests == (job,)
    assert not found.dropped
    (note,) = found.notes
    assert str(note) == (
        f"metadata.labels[kueue.x-k8s.io/queue-name]: {kind} stays in Kueue's queue: left as it "
        "is; for kubectl-edl, remove this label and add edl.dev/framework"
    )


@pytest.mark.parametrize("labels", [None, "text", {"app": "one"}])
def test_a_job_outside_kueue_is_not_converted(labels: object) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"labels": labels}}
    assert convert(job) is None


def with_share(framework: str = "") -> Json:
    template = {"metadata": {"labels": {"sharedgpu/gpu_request": "0.5"}}, "spec": {}}
    labels = {"edl.dev/framework": framework} if framework else {}
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one", "labels": labels}}
    return head | {"spec": {"template": template}}


@pytest.mark.parametrize(
    "document",
    [
        with_share(),
        with_share() | {"spec": {"template": {"spec": {"schedulerName": "kubeshare-scheduler"}}}},
        with_share() | {"status": {"conditions": [{"type": "Complete", "status": "False"}]}},
        with_share() | {"status": ["Complete"]},
    ],
)
def test_a_job_of_kubeshare_is_left_and_can_be_adopted(document: Json) -> None:
    found = convert(document)
    assert found is not None
    assert (found.manifests, found.dropped) == ((document,), ())
    (note,) = found.notes
    assert str(note) == (
        "spec.template: KubeShare places its pods, but no label makes it elastic: left as it is; "
        "for kubectl-edl: kubectl edl adopt -f FILE --framework none"
    )


def cron_job(framework: str = "") -> Json:
    made = with_share(framework)
    inner = {"metadata": made["metadata"], "spec": made["spec"]}
    head = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "one"}}
    return head | {"spec": {"jobTemplate": inner}}


def test_a_cron_job_of_kubeshare_is_left_and_can_be_adopted() -> None:
    found = convert(cron_job())
    assert found is not None
    assert (found.manifests, found.dropped) == ((cron_job(),), ())
    (note,) = found.notes
    assert str(note) == (
        "spec.jobTemplate.spec.template: KubeShare places its pods, but no label makes it elastic: "
        "left as it is; for kubectl-edl: kubectl edl adopt -f FILE --framework none"
    )


@pytest.mark.parametrize(
    "document",
    [
        cron_job("none"),
        cron_job() | {"spec": {"jobTemplate": ["template"]}},
        with_share("none"),
        with_share() | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}},
        with_share() | {"metadata": {"name": "one", "ownerReferences": [{"kind": "Workflow"}]}},
        with_share() | {"spec": {"template": {"metadata": {"labels": {7: "a"}}, "spec": []}}},
        with_share() | {"spec": {"template": {"spec": {"schedulerName": ["kubeshare-scheduler"]}}}},
    ],
)
def test_a_managed_finished_or_malformed_job_has_no_note_on_kubeshare(document: Json) -> None:
    assert convert(document) is None
