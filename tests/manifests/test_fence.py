"""The fence speaks of what the contract names, and of every write that the reconciler may make."""

import ast
import re
from datetime import timedelta
from typing import Any

import pytest

from certs.secrets import AUTHORITY_SECRET, SECRET
from edl import contract
from edl.planner.decision_limits import ProvisionerSettings
from edl.planner.plan import ProvisioningRequest
from edl.steps import dependents
from edl.steps.provisioning import provisional_pods
from edl.writes import Create
from manifests import installation, values
from manifests.documents import BASE, load
from tests.edl.trainings import role, training
from tests.integration.support.rights import OF_RECONCILER, grants

KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
POLICY, BINDING = (each for each in load() if each["kind"] in KINDS)
TEXT = (BASE / "fence.yaml").read_text()
VARIABLES = {one["name"]: one["expression"] for one in POLICY["spec"]["variables"]}
OPERATIONS = {"create": "CREATE", "patch": "UPDATE", "delete": "DELETE"}
TOLD_OF_ANYTHING = {"events", "leases"}
"""Written in our own namespace, or about any object, and worth nothing to a thief."""


def literal(variable: str) -> Any:  # noqa: ANN401 - what stands there
    """CEL's texts, lists and maps are Python's, but for these words."""
    text = VARIABLES[variable].replace("dyn(", "(")
    return ast.literal_eval(text.replace("true", "True").replace("false", "False"))


def test_it_is_bound_and_denies() -> None:
    assert BINDING["spec"]["policyName"] == POLICY["metadata"]["name"]
    assert BINDING["spec"]["validationActions"] == ["Deny"]
    assert POLICY["spec"]["failurePolicy"] == "Fail"


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_installed_unless_a_value_takes_it_off(enabled: bool) -> None:  # noqa: FBT001 - pytest passes it
    default = [] if enabled else [{"fence": {"enabled": False}}]
    chosen = values.read(dict(*default))
    kinds = [each["kind"] for each in installation.documents(chosen)]
    assert [kind in kinds for kind in KINDS] == [enabled, enabled]


def test_without_it_the_reconciler_neither_creates_pods_nor_asks_for_nodes() -> None:
    """RBAC cannot limit what is in a pod."""
    documents = installation.documents(values.read({"fence": {"enabled": False}}))
    bound = {
        one["roleRef"]["name"]
        for one in documents
        if one["kind"] == "ClusterRoleBinding"
        and "edl-reconciler" in {subject["name"] for subject in one["subjects"]}
    }
    assert bound
    assert not {("create", "pods"), ("create", "podtemplates")} & {
        grant.asked for grant in grants(documents, *bound)
    }
    (reconciler,) = (
        one["spec"]["template"]["spec"]["containers"][0]
        for one in documents
        if (one["kind"], one["metadata"]["name"]) == ("Deployment", "edl-reconciler")
    )
    assert reconciler["args"][-2:] == ["--autoscaler", "none"]


def test_it_is_about_the_reconciler_alone() -> None:
    (condition,) = POLICY["spec"]["matchConditions"]
    assert condition["expression"] == f"request.userInfo.username == '{contract.RECONCILER_USER}'"


def test_every_write_that_it_may_make_is_looked_at() -> None:
    seen = {
        (resource, operation)
        for rule in POLICY["spec"]["matchConstraints"]["resourceRules"]
        for resource in rule["resources"]
        for operation in rule["operations"]
    }
    written = {
        (grant.resource, OPERATIONS[grant.verb])
        for grant in grants(load(), *OF_RECONCILER)
        if grant.verb in OPERATIONS and grant.resource not in TOLD_OF_ANYTHING
    }
    assert seen == written


@pytest.mark.parametrize(
    "name",
    [
        *(contract.FRAMEWORK, contract.JOB, contract.KUBEXEC, contract.ENABLED),
        *(AUTHORITY_SECRET, SECRET),
        *(contract.LAUNCHER_CLUSTER_ROLE, contract.PEERS_CLUSTER_ROLE, contract.SYSTEM_NAMESPACE),
    ],
)
def test_it_spells_names_as_the_contract_does(name: str) -> None:
    assert f"'{name}'" in TEXT


def test_every_refusal_says_why() -> None:
    messages = [each["message"] for each in POLICY["spec"]["validations"]]
    assert len(set(messages)) == len(messages) > 5
    refusal = re.compile("the reconciler may (only|not) |the namespace does not ")
    assert [text for text in messages if not refusal.match(text)] == []


def test_what_a_provisional_pod_says_is_what_it_lets_through() -> None:
    found = role("worker", suspended=True)
    job = training(found)
    image = ProvisionerSettings().provisional_image
    request = ProvisioningRequest(job.key, (), image, timedelta(minutes=10))
    pod: Any = dict(provisional_pods.create(job, found, "mnist-0", request).manifest)
    (container,) = pod["spec"]["containers"]
    for said, allowed in (
        (pod["metadata"]["labels"], "allowedLabels"),
        (pod["metadata"]["annotations"], "allowedAnnotations"),
        (pod["spec"], "allowedPodFields"),
        (container, "allowedContainerFields"),
        (pod["spec"]["securityContext"], "allowedPodSecurity"),
        (container["securityContext"], "allowedContainerSecurity"),
    ):
        assert said.keys() <= set(literal(allowed)), allowed
    assert container["image"] == literal("provisionalImage")


def test_what_a_service_says_is_what_it_lets_through() -> None:
    found = role("worker")
    services = [
        write.manifest
        for write in dependents.dependents_of(training(found, existing_dependents={}))
        if isinstance(write, Create) and write.target.kind == "Service"
    ]
    assert services
    for service in services:
        assert service["spec"].keys() <= set(literal("allowedServiceFields"))


def test_it_knows_the_image_that_an_installation_chooses() -> None:
    given = {"reconciler": {"planning": {"provisionalImage": "example/pause:1"}}}
    found = installation.documents(values.read(given))
    (policy,) = (each for each in found if each["kind"] == KINDS[0])
    assert {"name": "provisionalImage", "expression": '"example/pause:1"'} in policy["spec"][
        "variables"
    ]
