"""The time to live of one Job of several waits until the whole training job has ended."""

from typing import Any

import pytest

from edl import contract
from edl.inject import ttl_after_finished
from edl.inject.handlers import AdmissionRequest, AdmissionVerdict, Context, mutate, validate
from edl.spec.job_spec import HELD_TTL
from edl.writes import Json
from tests.edl.kube import manifests

CONTEXT = Context(frozenset({contract.RECONCILER_USER}), "image")
ALL_ROLES = "chief=1,worker=1..3"


def chief(seconds: object = 0) -> Json:
    labels = {"edl.dev/framework": "tensorflow", "edl.dev/job": "mnist", "edl.dev/role": "chief"}
    body = manifests.job(
        "mnist-chief", labels=labels, notes={contract.ROLES: ALL_ROLES}, suspend=False
    )
    return body | {"kind": "Job", "spec": body["spec"] | {ttl_after_finished.FIELD: seconds}}


def alone(seconds: int) -> Json:
    body = manifests.job("sweep", labels={"edl.dev/framework": "none"}, suspend=False)
    return body | {"kind": "Job", "spec": body["spec"] | {ttl_after_finished.FIELD: seconds}}


def created(manifest: Json) -> AdmissionVerdict:
    return mutate(AdmissionRequest("CREATE", manifest, None, "ann"), CONTEXT)


def updated(new: Json, old: Json, user: str = "ann") -> Json:
    return mutate(AdmissionRequest("UPDATE", new, old, user), CONTEXT).manifest


def held(manifest: Json) -> tuple[Any, Any]:
    notes = manifest["metadata"].get("annotations", {})
    return manifest["spec"].get(ttl_after_finished.FIELD), notes.get(contract.TTL)


def with_ttl(manifest: Json, seconds: int | None) -> Json:
    return manifest | {"spec": manifest["spec"] | {ttl_after_finished.FIELD: seconds}}


@pytest.mark.parametrize("seconds", [0, 600])
def test_the_time_of_one_job_of_several_is_held_and_its_user_is_told(seconds: int) -> None:
    verdict = created(chief(seconds))
    assert held(verdict.manifest) == (HELD_TTL, str(seconds))
    assert [text for text in verdict.warnings if ttl_after_finished.FIELD in text]


def test_a_completed_job_is_complete() -> None:
    stored = created(chief()).manifest
    assert created(stored).manifest == stored
    validate(AdmissionRequest("CREATE", stored, None, "ann"), CONTEXT)


def test_a_job_alone_keeps_its_time() -> None:
    assert held(created(alone(0)).manifest) == (0, None)


@pytest.mark.parametrize("seconds", [None, True, "5", -1, HELD_TTL])
def test_a_malformed_ttl_is_left_to_the_api_server(seconds: object) -> None:
    manifest = chief(seconds)
    assert ttl_after_finished.defer_ttl(manifest) == manifest


def test_the_same_file_applied_again_changes_nothing() -> None:
    stored = created(chief(30)).manifest
    assert updated(with_ttl(stored, 30), stored) == stored
    assert updated(stored, stored) == stored


def test_a_new_time_is_held_and_no_time_at_all_is_none() -> None:
    stored = created(chief(30)).manifest
    assert held(updated(with_ttl(stored, 5), stored)) == (HELD_TTL, "5")
    assert held(updated(with_ttl(stored, None), stored)) == (None, None)


def test_what_the_reconciler_put_back_stays() -> None:
    stored = created(chief(30)).manifest
    back = updated(with_ttl(stored, 30), stored, contract.RECONCILER_USER)
    assert held(back) == (30, "30")
    assert updated(back, back) == back


def test_a_job_that_is_handed_back_has_its_own_time_again() -> None:
    stored = created(chief(30)).manifest
    metadata = {"name": "mnist-chief", "namespace": "web", "labels": {}, "annotations": {}}
    assert held(updated(stored | {"metadata": metadata}, stored)) == (30, None)
