"""Checks that the API server calls the webhook for the right objects, and gets an answer."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

import msgspec

from certs.secrets import CONFIGURATION, WEBHOOK_KINDS
from edl import contract
from edl.errors import Forbidden, Invalid, Unreachable, WebhookRefused
from edl.kube.auth.access_review import AccessRight
from edl.messages.scarcity_messages import listed
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.client.certificate_store import namespaces_named
from kubectl_edl.doctor.checks.check import (
    AS_ADMINISTRATOR,
    CheckContext,
    CheckResults,
    failure,
    ok,
    warning,
)
from kubectl_edl.doctor.checks.webhook_trust import bundle_remedy
from manifests import installation

_OF_OTHERS: Final[Mapping[str, str]] = {
    "keys.edl.dev": "Jobs with a misspelt edl.dev name are refused while the webhook is down",
    "teams.edl.dev": "teams cannot be changed while the webhook is down",
    "settings.edl.dev": "namespaces cannot be changed while the webhook is down",
}
_OWN: Final = frozenset({"teams.edl.dev"})
"""Entries that review an object in the installation's own namespace."""
_SELECTING: Final = ("rules", "namespaceSelector", "objectSelector")
"""The fields of an entry that select the requests which the API server sends, each of one owner."""
_KEYED: Final = "k:"
"""Begins the name of a list's element in managedFields: `k:{"name":"jobs.edl.dev"}`."""
_ACCOUNT: Final = "system:serviceaccount:"
_LOGS: Final = (
    "kubectl get pods,endpointslices -n {namespace}; kubectl logs -n {namespace} deploy/edl-webhook"
)
_ELSEWHERE: Final = "kubectl edl doctor -n NAMESPACE"
_OUTSIDE: Final = (
    "start the webhook that is served from {url}; where it runs, caBundle in the webhook "
    "configurations must be the authority of its certificate (ca.crt of its --cert-dir)"
)


def configuration(context: CheckContext) -> CheckResults:
    """Check entries, failure policies and selectors: an outage may affect labelled objects only."""
    wrong = list(_wrong_entries(context))
    changed = [*_changed_by_others(context), *_changed_conditions(context)]
    yield from (replace(result, fix=context.installer.by_force) for result in wrong)
    yield from changed
    if not (wrong or changed):
        yield ok("the API server calls it for labelled objects only")


def answers(context: CheckContext) -> CheckResults:
    """Create a labelled Job in a dry run: the API server must return it with our fields."""
    namespace = context.connection.namespace or "default"
    probe = _probe(f"edl-doctor-{int(context.now.timestamp())}", namespace)
    target = ObjectRef("Job", namespace, probe["metadata"]["name"])
    try:
        answer = context.cluster.without_warnings().create(target, probe, dry_run=True)
    except Unreachable as error:
        yield failure(f"the API server does not reach the webhook: {error}", _restart(context))
        return
    except (Invalid, Forbidden) as error:
        # A quota refuses with the same status as a missing right.
        right = AccessRight("create", "jobs", "batch", namespace)
        if isinstance(error, Forbidden) and not context.may(right):
            raise
        refused = f"namespace {namespace} rejects the Job of the dry run: {error}"
        if isinstance(error, WebhookRefused) and _is_changed_by_others(context):
            yield failure(refused, context.installer.by_force)
        else:
            yield warning(refused, "" if context.named else FixCommand(_ELSEWHERE))
        return
    if contract.INJECTED_MAX in (answer["metadata"].get("annotations") or {}):
        yield ok(
            f"the API server reaches it: a labelled Job was mutated in a dry run ({namespace})"
        )
    else:
        yield failure(
            f"a labelled Job was not mutated: no webhook is called in namespace {namespace}",
            _shown(context),
        )


def _is_changed_by_others(context: CheckContext) -> bool:
    """Whether another client has changed what is reviewed; False if the user may not read that."""
    try:
        return any(_changed_by_others(context))
    except Forbidden:
        return False


def _restart(context: CheckContext) -> str:
    """How to find why the webhook does not answer, within the rights of the user."""
    here = context.system_namespace
    try:
        outside = context.outside_webhook
        if untrusting := bundle_remedy(context):
            return untrusting
    except Forbidden:
        return AS_ADMINISTRATOR
    if outside:
        return _OUTSIDE.format(url=outside)
    if _has_no_service(context):
        return context.installer.again
    may = context.may(AccessRight("get", "pods/log", namespace=here))
    return FixCommand(_LOGS.format(namespace=here)) if may else AS_ADMINISTRATOR


def _has_no_service(context: CheckContext) -> bool:
    """Whether the webhook's Service does not exist; False if it may not be read."""
    try:
        return context.find(ObjectRef("Service", context.system_namespace, "edl-webhook")) is None
    except Forbidden:
        return False


def _shown(context: CheckContext) -> str:
    """The command that shows for which objects it is called, if the user has the right."""
    kind = "MutatingWebhookConfiguration"
    try:
        context.find(ObjectRef(kind, "", CONFIGURATION))
    except Forbidden:
        return AS_ADMINISTRATOR
    return FixCommand(f"kubectl get {kind.lower()} {CONFIGURATION} -o yaml")


@cache
def _installed_entries() -> Mapping[str, Mapping[str, Json]]:
    """The entries of each webhook configuration that we install, by name."""
    return {
        document["kind"]: _by_name(document["webhooks"])
        for document in installation.documents()
        if document["kind"] in WEBHOOK_KINDS
    }


def _entries(context: CheckContext, kind: str) -> Mapping[str, Json]:
    """The stored entries of a webhook configuration, by name."""
    stored = context.find(ObjectRef(kind, "", CONFIGURATION)) or {}
    return _by_name(stored.get("webhooks") or ())


def _by_name(items: Iterable[Json]) -> dict[str, Json]:
    return {str(item["name"]): item for item in items}


def _wrong_entries(context: CheckContext) -> CheckResults:
    """The findings, without their common fix."""
    for kind, installed in _installed_entries().items():
        entries = _entries(context, kind)
        yield from _absent(kind, installed, entries)
        for name, entry in entries.items():
            where = f"{kind} {CONFIGURATION}, {name}"
            yield from _misfits(where, entry, installed.get(name, {}).get("failurePolicy"))
            yield from _selects_system(where, entry, context.system_namespace)


def _changed_by_others(context: CheckContext) -> CheckResults:
    """Findings about clients, such as a policy engine, that change which objects are reviewed."""
    for kind in WEBHOOK_KINDS:
        manifest = context.find(ObjectRef(kind, "", CONFIGURATION)) or {}
        managed = (manifest.get("metadata") or {}).get("managedFields") or ()
        for manager, places in sorted(_foreign_places(managed).items()):
            fields = listed(sorted({field for _, field in places}))
            entries = listed(sorted({entry for entry, _ in places}))
            yield warning(
                f'{kind} {CONFIGURATION}: "{manager}" has changed {fields} of {entries}: what '
                "it leaves out is not reviewed: labelled Jobs that were not completed are refused, "
                f"and unlabelled Jobs of namespaces with {contract.INJECTION}: {contract.ENABLED} "
                "stay ordinary Jobs. Exempt this object there, else upgrades fail with a conflict, "
                "or the two undo each other's changes",
                context.installer.by_force,
            )


def _changed_conditions(context: CheckContext) -> CheckResults:
    """Findings about match conditions, each of which excludes requests from review."""
    for kind, installed in _installed_entries().items():
        edit = FixCommand(f"kubectl edit {kind.lower()} {CONFIGURATION}")
        for name, entry in _entries(context, kind).items():
            ours = _conditions(installed.get(name, {}), context.system_namespace)
            theirs = _conditions(entry, context.system_namespace)
            where = f"{kind} {CONFIGURATION}, {name}: "
            if added := [key for key in theirs if key not in ours] if name in installed else []:
                what = f"the plugin's manifests do not have the match condition {listed(added)}"
                yield warning(f"{where}{what}: what it excludes is not reviewed; remove it", edit)
            if lost := [key for key in ours if theirs.get(key) != ours[key]]:
                what = f"the match condition {listed(lost)} is not that of the plugin's manifests"
                yield warning(f"{where}{what}", context.installer.by_force)


def _conditions(entry: Json, system_namespace: str) -> Mapping[str, str]:
    """The expressions by name, as if the manifests were installed in this namespace."""
    account, actual = f"{_ACCOUNT}{contract.SYSTEM_NAMESPACE}:", f"{_ACCOUNT}{system_namespace}:"
    return {
        str(condition["name"]): str(condition["expression"]).replace(account, actual)
        for condition in entry.get("matchConditions") or ()
    }


def _foreign_places(managed: Iterable[Json]) -> Mapping[str, list[tuple[str, str]]]:
    """(entry, field) of what selects objects, by the manager that has taken it from the installer.

    The installer owns the name of the entry; another client owns what its update has changed.
    """
    installers: defaultdict[str, set[str]] = defaultdict(set)
    owners: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for update in managed:
        entries = (update.get("fieldsV1") or {}).get("f:webhooks") or {}
        for key, fields in entries.items():
            if key.startswith(_KEYED):
                name = str(msgspec.json.decode(key.removeprefix(_KEYED))["name"])
                installers[name] |= {update["manager"]} if "f:name" in fields else set()
                for field in _SELECTING:
                    if f"f:{field}" in fields:
                        owners[name, field].add(update["manager"])
    places: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for (name, field), managers in owners.items():
        for manager in () if managers & installers[name] else managers:
            places[manager].append((name, field))
    return places


def _absent(kind: str, names: Iterable[str], entries: Mapping[str, Json]) -> CheckResults:
    for name in names:
        if name not in entries:
            yield failure(f"{kind} {CONFIGURATION} has no entry {name}", "")


def _misfits(where: str, entry: Json, policy: str | None) -> CheckResults:
    found_policy = entry.get("failurePolicy", "Fail")
    if policy and found_policy != policy:
        meaning = (
            "labelled objects are created incomplete while the webhook is down"
            if policy == "Fail"
            else _OF_OTHERS[str(entry["name"])]
        )
        yield warning(f"{where}: failurePolicy is {found_policy}, so {meaning}", "")
    if policy != "Ignore" and not _is_scoped(entry):
        yield failure(
            f"{where}: it selects objects without our labels, and its outage would stop them", ""
        )


def _selects_system(where: str, entry: Json, system_namespace: str) -> CheckResults:
    lacking = sorted({"kube-system", system_namespace} - set(namespaces_named(entry, "NotIn")))
    if lacking and entry["name"] not in _OWN:
        yield failure(f"{where}: it does not exclude {' and '.join(lacking)}", "")


def _is_scoped(entry: Json) -> bool:
    """Whether the entry covers only objects with our label, or namespaces that opted in."""
    label = (contract.FRAMEWORK, "Exists")
    return label in _expressions(entry, "objectSelector") or any(
        key == contract.INJECTION and operator == "In"
        for key, operator in _expressions(entry, "namespaceSelector")
    )


def _expressions(entry: Json, selector: str) -> set[tuple[str, str]]:
    expressions = (entry.get(selector) or {}).get("matchExpressions") or ()
    return {(expression["key"], expression["operator"]) for expression in expressions}


def _probe(name: str, namespace: str) -> Json:
    """An ordinary Job with our label, for a dry run only."""
    container = {"name": "main", "image": "none"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {contract.FRAMEWORK: "none"},
        },
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
