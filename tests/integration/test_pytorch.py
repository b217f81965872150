"""PyTorch's two forms, and how they end, as the API server takes them."""

from functools import partial

import pytest

from edl.writes import Json
from tests.integration.support.stage import Stage, elastic, role_jobs

pytestmark = pytest.mark.integration


def pytorch(job: str) -> list[Json]:
    """A rendezvous and two to four workers; the first failure of a pod fails its Job."""
    manifests = role_jobs("pytorch", job, "rendezvous=1,worker=2..4")
    for manifest in manifests:
        manifest["spec"]["backoffLimit"] = 0
    return manifests


def has_failed(stage: Stage, job: str) -> bool:
    conditions = stage.job(job).get("status", {}).get("conditions", ())
    return any(c["type"] == "Failed" and c["status"] == "True" for c in conditions)


def test_the_first_worker_that_succeeds_completes_the_training(installed: Stage) -> None:
    installed.apply(*pytorch("digits"))
    installed.until_runs("digits-worker", 4)
    installed.complete("digits-worker", index=2)
    for job in ("digits-worker", "digits-rendezvous"):
        installed.until(partial(installed.is_complete, job), f"{job} is complete")


def test_a_fixed_number_of_workers_completes_the_training_together(installed: Stage) -> None:
    installed.apply(elastic("plain", labels={"framework": "pytorch"}, parallelism=2))
    installed.until_runs("plain", 2)
    installed.complete("plain", index=1)
    job = partial(installed.job, "plain")
    installed.until(lambda: job()["status"].get("completedIndexes") == "1", "rank 1 has ended")
    assert not installed.is_complete("plain")
    assert installed.running("plain") == 1
    installed.complete("plain", index=0)
    installed.until(partial(installed.is_complete, "plain"), "plain is complete")


def test_workers_end_with_a_rendezvous_that_has_failed(installed: Stage) -> None:
    """The API server refuses 0/0 for them: their successPolicy counts on one index."""
    installed.apply(*pytorch("digits"))
    installed.until_runs("digits-worker", 4)
    installed.complete("digits-rendezvous", code=1)
    installed.until(lambda: has_failed(installed, "digits-worker"), "the workers have failed")
    installed.until(lambda: not installed.pods("digits-worker"), "their pods are gone")


def test_a_job_alone_has_a_service_for_the_worker_that_keeps_the_store(installed: Stage) -> None:
    labels = {"framework": "pytorch", "min": "2", "max": "3"}
    installed.apply(elastic("digits", labels=labels))
    installed.until_runs("digits", 3)
    assert installed.exists("Service", "digits-0")
