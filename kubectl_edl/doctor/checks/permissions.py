"""Checks the rights of our service accounts, and the rights of the user for the plugin.

Each right is checked by asking the API server: few users may read roles, and combining roles
would be error-prone.
"""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final

from edl import contract
from edl.errors import Forbidden
from edl.frameworks.base import ModeRight
from edl.kube.auth.access_review import AccessRight, lacking, listed, whoami
from edl.kube.auth.user_roles import EDITOR, VIEWER
from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from edl.visibility.namespace_queue import CONFIG_MAP
from edl.writes import Json
from kubectl_edl.cli.suggested_commands import by_administrator
from kubectl_edl.client.certificate_store import CertificateStore, certificate_owner
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResult,
    CheckResults,
    failure,
    ok,
    warning,
)
from manifests import installation, values

_SYSTEM: Final = contract.SYSTEM_NAMESPACE
"""Placeholder for the installation's namespace."""
_NOT_IN_NAMES: Final = str.maketrans("/%", "--")
"""Replaces characters that a binding's name may not contain."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as in a ClusterRole: every verb on every resource. An empty `namespace` means all."""

    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    group: str = ""
    namespace: str = ""
    names: tuple[str, ...] = ("",)

    def __iter__(self) -> Iterator[AccessRight]:
        for verb, resource, name in product(self.verbs, self.resources, self.names):
            yield AccessRight(verb, resource, self.group, self.namespace, name)


_FENCE: Final = (
    ObjectRef("ValidatingAdmissionPolicy", "", "edl-reconciler"),
    ObjectRef("ValidatingAdmissionPolicyBinding", "", "edl-reconciler"),
)
_FENCED_RIGHTS: Final = ObjectRef("ClusterRoleBinding", "", "edl-reconciler-provisioning")
"""Lets the reconciler create pods: installed with the fence alone, which limits it to its own."""
ACCOUNTS: Final = ("edl-webhook", "edl-reconciler")


@dataclass(frozen=True, slots=True)
class NeededRight:
    """A right that the user's commands need, and our ClusterRole that grants it (`role`)."""

    commands: str
    rules: tuple[Rule, ...]
    cluster_wide: bool = False
    role: str = VIEWER


YOURS: Final = (
    NeededRight(
        "status, queue, history", (Rule(("list",), ("jobs",), "batch"), Rule(("list",), ("pods",)))
    ),
    NeededRight(
        "positions, estimates and causes in the queue of a namespace",
        (Rule(("get",), ("configmaps",), names=(CONFIG_MAP,)),),
    ),
    NeededRight("logs", (Rule(("get",), ("pods/log",)),)),
    NeededRight("scale, pause, resume", (Rule(("get", "patch"), ("jobs",), "batch"),), role=EDITOR),
    NeededRight(
        "create, adopt, delete", (Rule(("create", "delete"), ("jobs",), "batch"),), role=EDITOR
    ),
    NeededRight(
        "plan, explain, simulate --live, the queue of this moment",
        (
            Rule(("list",), ("nodes", "namespaces", "pods", "services")),
            Rule(("list",), ("jobs",), "batch"),
            Rule(("list",), ("priorityclasses",), "scheduling.k8s.io"),
            Rule(("list",), ("configmaps",), "", _SYSTEM, (contract.TEAMS_CONFIG_MAP,)),
        ),
        cluster_wide=True,
    ),
    NeededRight(
        "plan by the reconciler's settings",
        (Rule(("get",), ("leases",), "coordination.k8s.io", _SYSTEM, ("edl-reconciler",)),),
        cluster_wide=True,
    ),
)


def ours(context: CheckContext) -> CheckResults:
    """Check all rights that the manifests of this installation grant.

    Raises Forbidden if the user may not review the rights of others, or read the fence.
    """
    cluster = context.cluster
    chosen = values.read(
        {
            "certManager": {"enabled": _uses_cert_manager(cluster)},
            "fence": {"enabled": context.find(_FENCE[0]) is not None},
            "rights": _rights_of_modes(context),
        }
    )
    documents = installation.documents(chosen, context.system_namespace)
    complete = 0
    for account in ACCOUNTS:
        runs_as = _account(context, account)
        missing = lacking(
            cluster, granted(account, documents), _subject(context.system_namespace, runs_as)
        )
        complete += not missing
        if missing:
            yield failure(
                f"ServiceAccount {context.system_namespace}/{runs_as} may not {listed(missing)}",
                context.installer.by_force,
            )
    if complete == len(ACCOUNTS):
        outside = [account for account in ACCOUNTS if _pod(context, account) is None]
        others = f"; {' and '.join(outside)} may run as another user outside of the cluster"
        has_all = f"{' and '.join(ACCOUNTS)} have all rights that they need"
        yield ok(f"ServiceAccounts {has_all}{others}" if outside else has_all)


def fence(context: CheckContext) -> CheckResults:
    """Check that no half of the fence is missing where the rights that it limits are granted.

    Raises Forbidden if the user may not read these objects: `ours` says so.
    """
    lost = [target for target in _FENCE if context.find(target) is None]
    if not lost:
        yield _denying(context)
    elif context.find(_FENCED_RIGHTS):
        missing = " and ".join(f"{target.kind} {target.name}" for target in lost)
        does = "nothing limits the reconciler's writes, and its token may create any pod"
        are = "is" if len(lost) == 1 else "are"
        yield failure(f"{missing} {are} missing: {does}", context.installer.again)


def _denying(context: CheckContext) -> CheckResult:
    """Whether the policy of the fence is in force: its binding may be set to warn or audit."""
    binding = context.find(_FENCE[1]) or {}
    if "Deny" in ((binding.get("spec") or {}).get("validationActions") or ()):
        return ok("admission policies limit the reconciler's writes")
    what = f"{_FENCE[1].kind} {_FENCE[1].name} does not have the validation action Deny"
    return failure(f"{what}: nothing limits the reconciler's writes", context.installer.by_force)


def _rights_of_modes(context: CheckContext) -> dict[str, bool]:
    """The values `rights` of this installation, by the options of its webhook."""
    containers = (_pod(context, "edl-webhook") or {}).get("containers") or ()
    options = [one for container in containers for one in pairwise(container.get("args") or ())]
    return {right.value: ("--withheld-right", right) not in options for right in ModeRight}


def _account(context: CheckContext, name: str) -> str:
    """The Deployment's ServiceAccount, or the manifests' one if the Deployment is not readable."""
    pod = _pod(context, name)
    return name if pod is None else str(pod.get("serviceAccountName") or "default")


def _pod(context: CheckContext, name: str) -> Json | None:
    """The spec of the Deployment's pods; None if there is none, or if it is not readable."""
    try:
        component = context.components.get(name)
    except Forbidden:
        return None
    return None if component is None else component.template


def _uses_cert_manager(cluster: Cluster) -> bool:
    """Whether cert-manager issues certificates; False if unreadable, which `yours` reports."""
    try:
        return certificate_owner(cluster) is CertificateStore.CERT_MANAGER
    except Forbidden:
        return False


def granted(account: str, documents: Iterable[Json]) -> list[AccessRight]:
    """The rights that these documents' roles grant to one of our service accounts, each once."""
    manifests = tuple(documents)
    roles = {(one["kind"], one["metadata"]["name"]): one for one in manifests if "rules" in one}
    bound = (
        roles[(binding["roleRef"]["kind"], binding["roleRef"]["name"])]
        for binding in manifests
        for subject in binding.get("subjects") or ()
        if (subject["kind"], subject["name"]) == ("ServiceAccount", account)
    )
    return sorted({right for role in bound for right in _rights(role)})


def _rights(role: Json) -> Iterator[AccessRight]:
    namespace = role["metadata"].get("namespace", "")
    for rule in role["rules"] or ():
        names = tuple(rule.get("resourceNames") or ("",))
        for group in rule["apiGroups"]:
            yield from Rule(rule["verbs"], rule["resources"], group, namespace, names)


def yours(context: CheckContext) -> CheckResults:
    """Check the user's rights. A missing one is a warning: many users need only one namespace."""
    cluster, namespace = context.cluster, context.connection.namespace
    without = {}
    for need in YOURS:
        rights = tuple(
            _within(right, need, namespace, context.system_namespace)
            for rule in need.rules
            for right in rule
        )
        if missing := lacking(cluster, rights):
            without[need] = missing
    me = whoami(cluster) if without else ""
    for need, missing in without.items():
        where = " in the whole cluster" if need.cluster_wide else ""
        yield warning(
            f"you may not {listed(missing)}: {need.commands} need it{where}",
            _grant(need, me, namespace or "default"),
        )
    if not without:
        yield ok("you have all rights that the plugin needs")


def _within(
    right: AccessRight, need: NeededRight, namespace: str, system_namespace: str
) -> AccessRight:
    """The same right in the user's namespace, or in the installation's."""
    if right.namespace == _SYSTEM:
        namespace = system_namespace
    elif need.cluster_wide:
        return right
    return AccessRight(right.verb, right.resource, right.group, namespace, right.name)


def _grant(need: NeededRight, me: str, namespace: str) -> str:
    """The administrator's command; the binding is named after the user, which makes it unique.

    The API server grants no right that the granting user lacks.
    """
    binding = shlex.quote(f"{need.role}-{me.translate(_NOT_IN_NAMES)}")
    to = f"--clusterrole={need.role} --user={shlex.quote(me)}"
    if need.cluster_wide:
        return by_administrator(f"kubectl create clusterrolebinding {binding} {to}")
    command = f"kubectl create rolebinding {binding} -n {namespace} {to}"
    return by_administrator(command, f"an administrator of namespace {namespace}")


def _subject(namespace: str, account: str) -> Json:
    return {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": [
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        ],
    }
