"""Jobs that a CronJob makes again and again, all for one training job."""

from typing import Any

from edl.inject.handlers import AdmissionRequest, advise
from edl.writes import Json
from tests.edl.manifests import CONTEXT, USER, create, created, job

WARNING = (
    "edl.dev/job: each run is left out of nightly while the Job of an earlier one exists, also of "
    "one that has ended: leave the label out, so that each run is a training job of its own"
)


def warnings(manifest: Json) -> tuple[str, ...]:
    return tuple(text for text in create(manifest).warnings if text.startswith("edl.dev/job"))


def run_of_cron_job(**labels: Any) -> Json:  # noqa: ANN401 - JSON
    """A Job that the CronJob controller creates, or `kubectl create job --from=cronjob/nightly`."""
    manifest = job("nightly-29000001", framework="pytorch", min="1", max="2", **labels)
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u"}
    manifest["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    return manifest


def test_every_run_of_a_cron_job_would_be_the_same_training_job() -> None:
    manifest = run_of_cron_job(job="nightly")
    assert warnings(manifest) == (WARNING,)
    assert warnings(created(manifest)) == (), "it was warned about before"


def test_a_run_that_is_a_training_job_of_its_own_is_not_warned_of() -> None:
    assert warnings(run_of_cron_job()) == ()


def test_a_generated_name_may_have_the_training_job_of_its_own_run() -> None:
    """A workflow groups the roles of one run by it."""
    manifest = job("", framework="none", min="1", max="2", job="run-7")
    manifest["metadata"] |= {"generateName": "train-"}
    assert warnings(manifest) == ()


def test_the_user_of_a_cron_job_is_told_when_it_is_applied() -> None:
    manifest = job("nightly", framework="pytorch", min="1", max="2", job="nightly")
    labels = manifest["metadata"].pop("labels")
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "lab"},
        "spec": {
            "schedule": "0 1 * * *",
            "jobTemplate": {"metadata": {"labels": labels}, "spec": manifest["spec"]},
        },
    }
    advice = advise(AdmissionRequest("CREATE", cron_job, None, USER), CONTEXT)
    assert f"spec.jobTemplate: {WARNING}" in advice.warnings
