"""Pods of the completion role's own Job end with it, whatever `edl.dev/clean-up` says."""

from typing import Any

import pytest

from edl import contract
from edl.writes import Json
from tests.edl.manifests import create, job, role_manifest

ROLES = "chief=1,ps=1,worker=1..4"
FIRST = {"rules": [{"succeededIndexes": "0"}]}


def said(manifest: Json, clean_up: str = "None") -> int:
    manifest["metadata"].setdefault("annotations", {})[contract.CLEAN_UP] = clean_up
    return sum(contract.CLEAN_UP in text for text in create(manifest).warnings)


def workers(framework: str, most: str = "4", **spec: Any) -> Json:  # noqa: ANN401 - JSON
    return job(framework=framework, min="3", max=most, spec={"parallelism": 3} | spec)


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_none_keeps_no_pod_of_a_job_that_one_of_its_pods_completes(framework: str) -> None:
    assert said(workers(framework)) == 1
    assert said(workers(framework, successPolicy=FIRST)) == 1
    assert said(workers(framework), "Running") == 0


def test_none_keeps_pods_of_other_jobs_and_of_work_items() -> None:
    assert said(role_manifest("worker", ROLES)) == 0
    assert said(workers("none")) == 0
    assert said(job(framework="pytorch", min="1", max="1")) == 0


def test_none_keeps_no_pod_of_torchruns_agents_at_a_fixed_size() -> None:
    container = {"name": "main", "image": "a", "command": ["torchrun", "train.py"]}
    manifest = job(framework="pytorch", spec={"parallelism": 3}, pod={"containers": [container]})
    assert said(manifest) == 1


def test_a_job_that_waits_for_all_of_its_pods_ends_none() -> None:
    everyone = {"rules": [{"succeededCount": 3}]}
    assert said(workers("tensorflow", "3", successPolicy=everyone)) == 0
    assert said(workers("pytorch", "3")) == 0
