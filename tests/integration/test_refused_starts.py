"""A start or a size that the API server refuses concerns its own job alone, which says why.

The cluster has four nodes with 8 CPU each; the refused job has a namespace of its own.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from edl import contract
from edl.annotations import failed_attempts
from edl.model import ObjectRef
from tests.integration.support.stage import elastic, stage, tensorflow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dev.installation import Installation
    from edl.model import WriteRefusal
    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

FULL = 15
"""Pods with 2 CPU each that the load ceiling admits."""
OF_US = f"request.userInfo.username == '{contract.RECONCILER_USER}'"


@pytest.fixture
def other(installation: Installation) -> Iterator[Stage]:
    with stage(installation.cluster) as made:
        yield made


def fill(cluster: Stage) -> None:
    """All that the load ceiling leaves: any other start must make room."""
    bounds = {"min": "1", "max": "20"}
    cluster.apply(elastic("fill", "2", labels=bounds, parallelism=1))
    cluster.until(lambda: cluster.size("fill") >= FULL, "the cluster is full")


def forbid_services(cluster: Stage) -> None:
    spec = {"hard": {"services": "0"}}
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}
    cluster.api.create(ObjectRef("ResourceQuota", cluster.namespace, "q"), body)
    quota = ObjectRef("ResourceQuota", cluster.namespace, "q")
    cluster.until(lambda: cluster.api.get(quota)["status"].get("used"), "the quota has counted")


@contextmanager
def policy(cluster: Stage, accepts: str) -> Iterator[None]:
    """The reconciler's updates of Jobs in this namespace must be as this expression says."""
    name = f"{cluster.namespace}-refuses"
    rule: Json = {"apiGroups": ["batch"], "apiVersions": ["v1"]}
    rule |= {"operations": ["UPDATE"], "resources": ["jobs"]}
    spec: Json = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "us", "expression": OF_US}],
        "validations": [{"expression": accepts, "message": "not at this hour"}],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
    binding: Json = {"policyName": name, "validationActions": ["Deny"]}
    binding["matchResources"] = {"namespaceSelector": here}
    version = "admissionregistration.k8s.io/v1"
    for kind, body in (
        ("ValidatingAdmissionPolicy", spec),
        ("ValidatingAdmissionPolicyBinding", binding),
    ):
        manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": body}
        cluster.api.create(ObjectRef(kind, "", name), manifest)
    time.sleep(2)  # the API server compiles it in the background
    try:
        yield
    finally:
        for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
            cluster.api.delete(ObjectRef(kind, "", name))


def refusal(cluster: Stage, job: str) -> WriteRefusal | None:
    notes = cluster.job(job)["metadata"].get("annotations", {})
    found = failed_attempts.read_refusals(notes.get(contract.WRITE_REFUSED, ""))
    return next(iter(found or ()), None)


def events(cluster: Stage) -> set[tuple[str, str]]:
    return {(one["reason"], one["involvedObject"]["name"]) for one in cluster.all("Event")}


def test_a_quota_that_refuses_one_start_delays_no_other_job_and_is_the_reason(
    installed: Stage, other: Stage
) -> None:
    fill(installed)
    forbid_services(other)
    other.apply(*tensorflow("refused", "1..3", cpu="2"))
    quota = f'exceeded ResourceQuota "q" of namespace {other.namespace}'
    limit = f"{quota}, requested: services=1, limited: services=0"
    other.until(lambda: limit in other.message("refused-chief"), "it says why it waits")
    installed.apply(*tensorflow("next", "2", cpu="3"))
    for role in ("chief", "ps"):
        installed.until_runs(f"next-{role}", 1)
    installed.until_runs("next-worker", 2)
    assert ("StartRefused", "refused-chief") in events(other)
    assert other.size("refused-chief") == 0
    other.api.delete(ObjectRef("ResourceQuota", other.namespace, "q"))
    other.until_runs("refused-chief", 1)
    assert refusal(other, "refused-chief") is None


def test_room_is_made_once_for_a_start_that_a_policy_refuses(
    installed: Stage, other: Stage
) -> None:
    fill(installed)
    with policy(other, "object.spec.suspend == true"):
        other.apply(*tensorflow("refused", "2", cpu="3"))
        other.until(lambda: refusal(other, "refused-chief"), "its start was refused")
        sizes = [installed.size("fill")]

        def tried_again() -> bool:
            sizes.append(installed.size("fill"))
            found = refusal(other, "refused-chief")
            return found is not None and found.attempts >= 5

        other.until(tried_again, "the start was refused five times")
        assert sizes == sorted(sizes)
        assert sizes[-1] >= FULL, "the room that was made is used again"
        assert "not at this hour" in other.message("refused-chief")
    other.until_runs("refused-worker", 2)


def test_where_no_job_may_be_written_an_event_says_so_and_others_start(
    installed: Stage, other: Stage
) -> None:
    fill(installed)
    with policy(other, "false"):
        other.apply(*tensorflow("refused", "2", cpu="3"))
        other.until(lambda: ("StartRefused", "refused-chief") in events(other), "an Event")
        installed.apply(*tensorflow("next", "2", cpu="3"))
        installed.until_runs("next-worker", 2)
        assert other.message("refused-chief") == ""
    other.until_runs("refused-worker", 2)


def work(cluster: Stage, name: str, least: int, most: int) -> None:
    """A job of work items with 1 CPU each."""
    bounds = {"min": str(least), "max": str(most)}
    cluster.apply(elastic(name, labels=bounds, parallelism=least))


def test_capacity_of_a_scale_up_that_a_policy_refuses_goes_to_others(
    installed: Stage, other: Stage
) -> None:
    work(other, "kept", 1, 40)
    other.annotate("kept", replicas="2")
    other.until_runs("kept", 2)
    with policy(other, "object.spec.parallelism <= 2"):
        other.annotate("kept", replicas=None)
        other.until(lambda: refusal(other, "kept"), "its scale-up was refused")
        work(installed, "fill", 1, 40)
        installed.until(lambda: installed.size("fill") >= 28, "the other job gets what is left")
        assert other.size("kept") == 2
        other.until(lambda: ("WriteRefused", "kept") in events(other), "an Event")
    other.until(lambda: other.size("kept") > 2, "it is scaled up once that is accepted")
    assert refusal(other, "kept") is None


def test_another_job_yields_where_a_policy_refuses_a_scale_down(
    installed: Stage, other: Stage
) -> None:
    work(other, "kept", 1, 16)
    other.until_runs("kept", 16)
    work(installed, "fill", 1, 16)
    installed.until(lambda: installed.size("fill") >= 15, "the cluster is full")
    with policy(other, "object.spec.parallelism >= 16"):
        work(installed, "next", 3, 3)
        installed.until_runs("next", 3)
        assert other.size("kept") == 16
        assert ("WriteRefused", "kept") in events(other)
