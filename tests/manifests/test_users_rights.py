"""What users may do by the two roles that Kubernetes adds to its own `view` and `edit`."""

import json
from itertools import product

import pytest

from edl import contract
from edl.errors import Forbidden
from edl.kube.api.api_errors import ApiCall, refusal
from edl.kube.cache.watched_kinds import SURROUNDINGS, Stores
from edl.kube.cluster import RESOURCES
from edl.visibility.namespace_queue import CONFIG_MAP
from edl.writes import Json
from kubectl_edl.doctor.checks.permissions import YOURS
from manifests import installation
from manifests.documents import HERE, load
from manifests.values import DEFAULTS

AGGREGATES = {"edl-viewer": "view", "edl-editor": "edit"}
READS = {"get", "list", "watch"}


def role(name: str) -> Json:
    (found,) = (one for one in load() if one["metadata"]["name"] == name)
    return found


def rights(name: str) -> set[tuple[str, str, str, str]]:
    """Verb, group, resource, and the object's name."""
    return {
        right
        for rule in role(name)["rules"]
        for right in product(
            *(rule["verbs"], rule["apiGroups"], rule["resources"]),
            rule.get("resourceNames", [""]),
        )
    }


@pytest.mark.parametrize("name", AGGREGATES)
def test_kubernetes_adds_it_to_its_own_role(name: str) -> None:
    labels = role(name)["metadata"]["labels"]
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    found = {label.removeprefix(prefix) for label in labels if label.startswith(prefix)}
    assert found == {AGGREGATES[name]}
    bound = [one["roleRef"]["name"] for one in load() if "roleRef" in one]
    assert name not in bound, "whoever installs gives it to nobody"


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_way_of_installing_has_it(name: str) -> None:
    assert f"name: {name}\n" in (HERE / "chart" / "templates" / "users-rights.yaml").read_text()
    assert name in {one["metadata"]["name"] for one in installation.documents(DEFAULTS)}


def test_a_viewer_reads_all_that_a_plan_is_made_from_and_changes_nothing() -> None:
    given = rights("edl-viewer")
    planned = {one for one, _ in Stores() if one.kind not in SURROUNDINGS}
    for one in planned:
        known = RESOURCES[one.kind]
        assert ("list", known.group, known.plural, one.name) in given
    assert {verb for verb, *_ in given} == READS
    assert not {"secrets", "pods/exec"} & {resource for _, _, resource, _ in given}
    assert {name for _, _, resource, name in given if resource == "configmaps"} == {
        *(CONFIG_MAP, contract.TEAMS_CONFIG_MAP, contract.TEAMS_APPLIED_CONFIG_MAP)
    }


def test_all_that_doctor_asks_of_users_is_given_by_the_role_that_it_names() -> None:
    for need in YOURS:
        for right in (one for rule in need.rules for one in rule):
            assert (right.verb, right.group, right.resource, right.name) in rights(need.role)


def test_an_editor_changes_jobs_and_nothing_else() -> None:
    changed = {resource for verb, _, resource, _ in rights("edl-editor") if verb not in READS}
    assert changed == {"jobs"}


def refused(user: str, verb: str, resource: str, name: str = "", namespace: str = "") -> str:
    """What a user reads whom the API server's RBAC refuses it."""
    said = f'is forbidden: User "{user}" cannot {verb} resource "…" in API group "…"'
    request = ApiCall(verb, resource, namespace, name, "https://cluster")
    error = refusal(request, 403, json.dumps({"message": said}).encode())
    assert isinstance(error, Forbidden)
    return str(error)


VERBS = ("get", "list", "watch", "create", "patch", "update", "delete")
RESOURCES_REFUSED = [
    *(f"{one.plural}.{one.group}".rstrip(".") for one in RESOURCES.values()),
    *("pods/log", "pods/exec"),
]


def test_a_refusal_names_the_role_that_has_the_verb_and_no_other() -> None:
    given = {role: rights(role) for role in AGGREGATES}
    names = ("", "edl-reconciler", CONFIG_MAP, "edl-teams", "edl-teams-applied", "other")
    for verb, resource, name in product(VERBS, RESOURCES_REFUSED, names):
        plural, _, group = resource.partition(".")
        asked = {(verb, group, plural, ""), (verb, group, plural, name)}
        having = next((role for role in AGGREGATES if asked & given[role]), None)
        way_out = f"the ClusterRole {having} in the whole cluster" if having else "a role with"
        assert f"; ask for {way_out}" in refused("ann", verb, resource, name)


def test_a_refusal_says_where_the_role_is_needed() -> None:
    assert refused("ann", "list", "pods", namespace="team") == (
        '"ann" may not list pods in namespace team; ask for the ClusterRole edl-viewer in '
        "namespace team (kubectl auth can-i list pods -n team)"
    )


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        (("get", "configmaps", CONFIG_MAP), "get configmaps/edl-queue -n team"),
        (("list", "configmaps", "edl-teams"), "list configmaps/edl-teams -n team"),
        (("get", "pods/log", "m-0"), "get pods/m-0 --subresource=log -n team"),
        (("patch", "jobs.batch", "m"), "patch jobs.batch/m -n team"),
    ],
)
def test_the_question_that_checks_a_right_is_about_the_refused_object(
    asked: tuple[str, str, str], question: str
) -> None:
    assert f"(kubectl auth can-i {question})" in refused("ann", *asked, namespace="team")


def test_a_service_account_is_not_sent_to_the_roles_of_users() -> None:
    said = refused("system:serviceaccount:edl-system:edl-reconciler", "patch", "jobs.batch")
    assert "ask for a role with this verb" in said


def test_a_service_account_of_a_user_is_sent_to_them() -> None:
    said = refused("system:serviceaccount:team:ci", "create", "jobs.batch", namespace="team")
    assert "ask for the ClusterRole edl-editor in namespace team" in said
