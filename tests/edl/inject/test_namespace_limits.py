"""How large a Job may be in its namespace, when it is created and when it is edited."""

from decimal import Decimal
from typing import Any

import pytest

from edl import contract
from edl.errors import Denied, Finding
from edl.inject.handlers import AdmissionRequest, validate
from edl.parsing.namespace_policy import NamespacePolicy, policy
from edl.writes import Json
from tests.edl.inject.policies import LAB, create, created, look_again, opted_in, saying, update
from tests.edl.manifests import CONTEXT, USER, changed, job, pod, refusals, role_manifest

SMALL = saying(largest_max=4)
TWO_GPUS = saying(gpu_budget=Decimal(2))
UNREADABLE = policy("lab", {}, {contract.LARGEST_MAX: "four"})
OWN_GPUS = {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}


def findings(manifest: Json, under: NamespacePolicy) -> tuple[Finding, ...]:
    with pytest.raises(Denied) as denied:
        create(manifest, under)
    return denied.value.findings


def torch(**fields: Any) -> Json:  # noqa: ANN401 - JSON
    return job("net", framework="pytorch", **fields)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (torch(max="5"), "metadata.labels[edl.dev/max]"),
        (torch(spec={"parallelism": 5}), "spec.parallelism"),
        (role_manifest("worker", "chief=1,worker=1..5"), "metadata.annotations[edl.dev/roles]"),
        (
            pod(framework="none", job="net", annotations={"size": "5"}),
            "metadata.annotations[edl.dev/size]",
        ),
    ],
)
def test_a_larger_max_is_refused_with_its_field_and_the_namespace(given: Json, path: str) -> None:
    assert findings(given, SMALL) == (
        Finding(path, '5 is above 4, the edl.dev/largest-max of namespace "lab"', "at most 4"),
    )


def test_a_max_at_the_ceiling_passes() -> None:
    stored = created(torch(max="4"), SMALL)
    look_again(stored, SMALL)
    assert stored["metadata"]["labels"][contract.MAX] == "4"


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (torch(max="2", gpu="2"), "2 pods × 2 GPUs = 4 GPUs, above 2"),
        (torch(max="5", gpu="0.5"), "5 pods × 0.5 GPUs = 2.5 GPUs, above 2"),
        (torch(max="2", pod=OWN_GPUS), "2 pods × 2 GPUs = 4 GPUs, above 2"),
        (pod(framework="none", gpu="3"), "1 pod × 3 GPUs = 3 GPUs, above 2"),
    ],
)
def test_more_gpus_than_the_budget_are_refused_with_the_sum(given: Json, what: str) -> None:
    (finding,) = findings(given, TWO_GPUS)
    assert finding.what == f'{what}, the edl.dev/gpu-budget of namespace "lab"'


def test_the_way_out_is_a_number() -> None:
    assert (
        findings(torch(max="9", gpu="0.5"), TWO_GPUS)[0].allowed == "a max of 4 with 0.5 GPUs each"
    )
    assert findings(torch(max="9", gpu="3"), TWO_GPUS)[0].allowed == "at most 2 GPUs"


@pytest.mark.parametrize(
    "given",
    [torch(max="2", gpu="1"), torch(max="4", gpu="0.5"), torch(max="99"), pod(framework="none")],
)
def test_a_job_within_the_gpu_budget_is_accepted(given: Json) -> None:
    assert refusals(look_again, created(given, TWO_GPUS), TWO_GPUS) == []


def test_a_budget_of_nothing_refuses_every_gpu() -> None:
    none = saying(gpu_budget=Decimal(0))
    created(torch(max="9"), none)
    assert findings(torch(gpu="0.1"), none)[0].allowed == "at most 0 GPUs"


def test_shares_by_kubeshares_own_labels_count() -> None:
    given = torch(max="5")
    given["spec"]["template"]["metadata"] = {"labels": {contract.SHARED_GPU_LIMIT: "0.5"}}
    assert "5 pods × 0.5 GPUs" in findings(given, TWO_GPUS)[0].what


def test_a_share_without_a_value_counts_nothing() -> None:
    given = torch(max="5")
    given["spec"]["template"]["metadata"] = {"annotations": {contract.SHARED_GPU_REQUEST: None}}
    assert refusals(look_again, created(given, TWO_GPUS), TWO_GPUS) == []


def test_both_ceilings_are_told_at_once() -> None:
    both = saying(largest_max=4, gpu_budget=Decimal(2))
    assert len(findings(torch(max="5", gpu="1"), both)) == 2


def test_a_malformed_quantity_is_a_finding() -> None:
    bad = {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": "two"}}}]}
    (finding,) = findings(torch(pod=bad), TWO_GPUS)
    assert '"two" is not a quantity' in finding.what


def test_a_setting_that_cannot_be_read_lets_nothing_new_in() -> None:
    wanted = Finding(
        'namespace "lab" metadata.annotations[edl.dev/largest-max]',
        '"four"',
        "a whole number from 1 to 100000",
    )
    assert findings(torch(), UNREADABLE) == (wanted,)
    assert wanted in findings(torch(min="x"), UNREADABLE)


def test_a_job_that_the_namespace_made_ours_is_told_so() -> None:
    given = job("net", spec={"parallelism": 5})
    ceiling, origin = findings(given, opted_in(largest_max=4))
    assert ceiling.path == "spec.parallelism"
    assert "opt out by edl.dev/injection: disabled" in origin.allowed


LARGE = created(torch(max="8", gpu="1"), LAB)


@pytest.mark.parametrize("under", [SMALL, TWO_GPUS, UNREADABLE])
def test_a_job_above_a_new_ceiling_stays_touchable_and_may_shrink(under: NamespacePolicy) -> None:
    labelled = changed(LARGE, "metadata labels team", "vision")
    assert update(labelled, LARGE, under).manifest == labelled
    smaller = changed(LARGE, "metadata labels edl.dev/max", "6")
    assert update(smaller, LARGE, under).manifest == smaller
    look = AdmissionRequest("UPDATE", labelled, LARGE, contract.RECONCILER_USER, under)
    validate(look, CONTEXT)


@pytest.mark.parametrize(
    ("under", "what"),
    [
        (SMALL, "6 is above 4"),
        (TWO_GPUS, "6 pods × 1 GPU = 6 GPUs, above 2"),
        (UNREADABLE, '"four"'),
    ],
)
def test_but_it_may_not_grow_again(under: NamespacePolicy, what: str) -> None:
    shrunk = changed(LARGE, "metadata labels edl.dev/max", "5")
    grown = changed(LARGE, "metadata labels edl.dev/max", "6")
    with pytest.raises(Denied, match=what):
        update(grown, shrunk, under)
    with pytest.raises(Denied, match=what):
        validate(AdmissionRequest("UPDATE", grown, shrunk, USER, under), CONTEXT)


def test_it_may_grow_up_to_the_ceiling() -> None:
    shrunk = changed(LARGE, "metadata labels edl.dev/max", "2")
    grown = changed(LARGE, "metadata labels edl.dev/max", "4")
    assert update(grown, shrunk, SMALL).manifest == grown


def test_more_gpus_a_pod_are_growth_too() -> None:
    path = "spec template spec containers"
    more = changed(LARGE, path, OWN_GPUS["containers"])
    with pytest.raises(Denied, match="8 pods × 2 GPUs = 16 GPUs"):
        update(more, LARGE, TWO_GPUS)


def test_one_that_was_unreadable_may_not_come_back_above_the_ceiling() -> None:
    broken = changed(LARGE, "metadata labels edl.dev/max", "x")
    with pytest.raises(Denied, match="8 is above 4"):
        update(LARGE, broken, SMALL)
    mended = changed(LARGE, "metadata labels edl.dev/max", "4")
    assert update(mended, broken, SMALL).manifest == mended
