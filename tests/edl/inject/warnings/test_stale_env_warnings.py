"""Variables of a queued Job whose GPUs are changed, as Kubernetes 1.36 allows."""

import pytest

from edl.inject.handlers import AdmissionRequest, mutate
from edl.writes import Json
from tests.edl.manifests import CONTEXT, USER, changed, created, job

STAYS = (
    ": the pods keep what was set for their GPUs or slots at creation, and the env of a Job is "
    "immutable: change these back, or recreate the Job"
)


def with_gpus(manifest: Json, number: str) -> Json:
    containers = manifest["spec"]["template"]["spec"]["containers"]
    limits = {"limits": {"nvidia.com/gpu": number}, "requests": {"nvidia.com/gpu": number}}
    wider = [containers[0] | {"resources": limits}, *containers[1:]]
    return changed(manifest, "spec template spec containers", wider)


def said(new: Json, old: Json) -> tuple[str, ...]:
    return mutate(AdmissionRequest("UPDATE", new, old, USER), CONTEXT).warnings


@pytest.mark.parametrize("number", ["8", "2"])
def test_the_number_of_processes_stays_when_the_gpus_change(number: str) -> None:
    stored = created(with_gpus(job(framework="pytorch", min="1", max="4"), "4"))
    assert said(with_gpus(stored, number), stored) == (f"env PET_NPROC_PER_NODE=4{STAYS}",)
    assert said(with_gpus(stored, "4"), stored) == ()


def test_variables_that_do_not_tell_the_gpus_stay_rightly() -> None:
    stored = created(with_gpus(job(framework="tensorflow", min="1", max="4"), "4"))
    assert said(with_gpus(stored, "8"), stored) == ()


def test_a_value_of_the_users_own_is_not_the_webhooks() -> None:
    given = with_gpus(job(framework="pytorch", min="1", max="4"), "4")
    given["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "PET_NPROC_PER_NODE", "value": "1"}
    ]
    stored = created(given)
    assert said(with_gpus(stored, "8"), stored) == ()
