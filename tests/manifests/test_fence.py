"""The fence speaks of what the contract names, and of every write that the reconciler may make."""

import re

import pytest

from certs.installation import SECRET
from edl import contract
from edl.writes import Json
from manifests.components import FOLDER
from manifests.documents import load
from tests.integration.support.rights import grants

POLICY, BINDING, WEBHOOK, WEBHOOK_BINDING = load(FOLDER / "fence")
TEXT = (FOLDER / "fence" / "fence.yaml").read_text()
OPERATIONS = {"create": "CREATE", "patch": "UPDATE", "delete": "DELETE"}
TOLD_OF_ANYTHING = {"events", "leases"}
"""Written in our own namespace, or about any object, and worth nothing to a thief."""


@pytest.mark.parametrize(("policy", "binding"), [(POLICY, BINDING), (WEBHOOK, WEBHOOK_BINDING)])
def test_it_is_bound_and_denies(policy: Json, binding: Json) -> None:
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert binding["spec"]["validationActions"] == ["Deny"]
    assert policy["spec"]["failurePolicy"] == "Fail"


def test_the_webhook_makes_the_one_secret_that_it_reads() -> None:
    (rule,) = WEBHOOK["spec"]["validations"]
    assert f"object.metadata.name == '{SECRET.rpartition('/')[2]}'" in rule["expression"]


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
        for grant in grants(load(), "edl-reconciler")
        if grant.verb in OPERATIONS and grant.resource not in TOLD_OF_ANYTHING
    }
    assert seen == written


@pytest.mark.parametrize(
    "name",
    [
        *(contract.FRAMEWORK, contract.JOB, contract.KUBEXEC, contract.ENABLED),
        *(contract.LAUNCHER_CLUSTER_ROLE, contract.PEERS_CLUSTER_ROLE, contract.SYSTEM_NAMESPACE),
    ],
)
def test_it_spells_names_as_the_contract_does(name: str) -> None:
    assert f"'{name}'" in TEXT


def test_every_refusal_says_why() -> None:
    messages = [each["message"] for each in POLICY["spec"]["validations"]]
    assert len(set(messages)) == len(messages) > 5
    assert all(re.match(r"(the|what the) (reconciler|namespace)", text) for text in messages)
