"""Containers that admission adds to pods count from the second start on: no Job shows them.

The cluster has four nodes with 8 CPU each.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from edl import contract
from edl.model import Code
from edl.planner.decision_limits import Limits
from tests.integration.support.stage import elastic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edl.writes import Json
    from tests.integration.support.rounds import Rounds
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration
AFTER_LIMIT = Limits().gang_limit + timedelta(seconds=10)
AFTER_BACKOFF = timedelta(hours=2)
GROUP = "admissionregistration.k8s.io"
KINDS = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
PROXY = """Object{spec: Object.spec{containers: [Object.spec.containers{
    name: "proxy", image: "proxy", resources: Object.spec.containers.resources{
        requests: {"cpu": "4"}}}]}}"""


@contextmanager
def proxies(stage: Stage) -> Iterator[None]:
    """Each pod of this namespace gets a container of 4 CPU."""
    name = f"{stage.namespace}-proxies"
    rule: Json = {"apiGroups": [""], "apiVersions": ["v1"]}
    rule |= {"operations": ["CREATE"], "resources": ["pods"]}
    policy: Json = {
        "matchConstraints": {"resourceRules": [rule]},
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": PROXY}}
        ],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": stage.namespace}}
    binding: Json = {"policyName": name, "matchResources": {"namespaceSelector": here}}
    if KINDS[0].lower() not in stage.kubectl("api-resources", f"--api-group={GROUP}").lower():
        pytest.skip(f"this API server does not serve {KINDS[0]} in v1")
    specs = zip(KINDS, (policy, binding), strict=True)
    made = [
        {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        for kind, spec in specs
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
    stage.kubectl("create", "-f", "-", text=text)
    try:
        yield
    finally:
        stage.kubectl("delete", "-f", "-", text=text)


def gang() -> Json:
    return elastic("held", "5", {"framework": "pytorch", "min": "3", "max": "3"}, parallelism=3)


def test_a_gang_that_fits_only_without_injected_containers_starts_once(
    installed: Stage, rounds: Rounds
) -> None:
    with proxies(installed):
        installed.until(lambda: _is_proxied(installed), "the policy is in effect")
        installed.apply(gang())
        rounds.until(lambda: len(installed.pods("held")) == 3, "its pods are created")
        rounds.until(lambda: not installed.pods("held"), "it is in the queue again", AFTER_LIMIT)
        notes = installed.job("held")["metadata"]["annotations"]
        assert notes[contract.ADDED_REQUESTS] == '{"cpu":"4000m"}'
        plan = rounds.perform(AFTER_BACKOFF)
        assert plan.admissions == ()
        (waiting,) = plan.waiting
        assert waiting.reason.code is Code.NEVER_FITS
    installed.until(lambda: not _is_proxied(installed), "the policy is gone")
    installed.kubectl("annotate", "job", "held", f"{contract.ADDED_REQUESTS}-")
    rounds.until_runs("held", 3, AFTER_BACKOFF)


def _is_proxied(stage: Stage) -> bool:
    """Whether a pod that the API server would create now gets the container."""
    pod: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}}
    pod |= {"spec": {"containers": [{"name": "main", "image": "main"}]}}
    made = stage.kubectl(
        "create", "--dry-run=server", "-o", "json", "-f", "-", text=json.dumps(pod)
    )
    return "proxy" in made
