"""The fence speaks of what the contract names, and of every write that the reconciler may make."""

import re

import pytest

from certs.secrets import AUTHORITY_SECRET, SECRET
from edl import contract
from manifests import installation, values
from manifests.documents import BASE, load
from tests.integration.support.rights import grants

KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
POLICY, BINDING = (each for each in load() if each["kind"] in KINDS)
TEXT = (BASE / "fence.yaml").read_text()
OPERATIONS = {"create": "CREATE", "patch": "UPDATE", "delete": "DELETE"}
TOLD_OF_ANYTHING = {"events", "leases"}
"""Written in our own namespace, or about any object, and worth nothing to a thief."""


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
        *(AUTHORITY_SECRET, SECRET),
        *(contract.LAUNCHER_CLUSTER_ROLE, contract.PEERS_CLUSTER_ROLE, contract.SYSTEM_NAMESPACE),
    ],
)
def test_it_spells_names_as_the_contract_does(name: str) -> None:
    assert f"'{name}'" in TEXT


def test_every_refusal_says_why() -> None:
    messages = [each["message"] for each in POLICY["spec"]["validations"]]
    assert len(set(messages)) == len(messages) > 5
    assert all(re.match(r"(the|what the) (reconciler|namespace)", text) for text in messages)
