from collections.abc import Callable, Iterator

import pytest

from benchmarks.experiments import manifests
from benchmarks.experiments.cluster import KINDS, MACHINES, TOTAL_CPU
from benchmarks.experiments.experiments import T1, T2, Experiment
from benchmarks.experiments.manifests import KIND_LABEL, Manifest
from edl.quantities import CPU, Resources
from tests.edl.manifests import created, pod_spec

Make = Callable[[Experiment, str], Iterator[Manifest]]
ALL = pytest.mark.parametrize("make", [manifests.elastic, manifests.scaled, manifests.plain])


def asked(job: Manifest) -> tuple[str, Resources]:
    template = job["spec"]["template"]
    (container,) = template["spec"]["containers"]
    kind = template["metadata"]["labels"][KIND_LABEL]
    return kind, Resources.parse(container["resources"]["requests"])


@ALL
def test_all_arms_ask_for_the_same(make: Make) -> None:
    for job in make(T1, "job-00"):
        kind, requests = asked(job)
        assert requests.get(CPU) == KINDS[kind].cpu
        assert requests.get("memory") == KINDS[kind].memory * 2**20


def test_the_webhook_takes_the_elastic_jobs() -> None:
    for job in manifests.elastic(T1, "job-00"):
        complete = created(job)
        assert complete["spec"]["suspend"] is True
        assert pod_spec(complete)["containers"]


def test_the_other_jobs_are_not_ours() -> None:
    for job in manifests.plain(T2, "job-00"):
        assert "labels" not in job["metadata"]
        assert job["spec"]["parallelism"] in (1, T2.pservers, T2.fixed)


def test_edl_begins_with_the_minimum_and_may_add_pods() -> None:
    by_name = {job["metadata"]["name"]: job["spec"] for job in manifests.scaled(T2, "job-00")}
    trainers = by_name["job-00-trainer"]
    assert (trainers["parallelism"], trainers.get("completions")) == (T2.min, None)
    assert by_name["job-00-pserver"]["parallelism"] == T2.pservers


def test_the_base_load_is_what_was_published() -> None:
    found = list(manifests.base_load())
    assert len(found) == sum(machines.count for machines in MACHINES)
    assert len(found) * KINDS["base"].cpu / TOTAL_CPU == pytest.approx(0.0215, abs=1e-4)


def test_the_service_never_kills() -> None:
    assert manifests.priority_class()["preemptionPolicy"] == "Never"
