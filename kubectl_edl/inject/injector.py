"""Injection without a cluster: the webhook's own function, applied to each manifest of some files.

A namespace's defaults and limits apply if its Namespace is among the manifests.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from edl.contract.manifest_parts import (
    JOB_TEMPLATE,
    job_template,
    labels,
    made_job,
    metadata,
    template,
    with_metadata,
    with_spec,
)
from edl.errors import Denied, findings_of
from edl.inject.handlers import AdmissionRequest, Context, advise, mutate, validate
from edl.inject.manifest_schema import is_labelled
from edl.inject.warnings import unknown_keys
from edl.parsing import namespace_policy
from edl.parsing.namespace_policy import NamespacePolicy
from edl.writes import Json
from kubectl_edl.resources.manifest_items import (
    changed,
    misshapen,
    prefixed,
    titled,
)
from kubectl_edl.resources.manifest_sources import ManifestSource
from kubectl_edl.resources.yaml_reader import Document, documents
from kubectl_edl.resources.yaml_rewriter import rewritten

if TYPE_CHECKING:
    from edl.errors import Finding
    from kubectl_edl.resources.yaml_rewriter import Rewritten

_USER: Final = "kubectl-edl inject"
_UNUSED_IMAGE: Final = "kubectl-edl"
"""For findings alone, which depend on no image."""
_REVIEWED: Final = ("Job", "Pod", "Namespace")
"""The kinds that the webhook reviews."""


@dataclass(frozen=True, slots=True)
class Injection:
    """One manifest that the webhook changes; `where` is its file and document."""

    where: str
    before: Json
    after: Json

    @property
    def name(self) -> str:
        """`job.batch/mnist-worker`, kubectl's format."""
        return titled(self.before)


def inject(sources: Sequence[ManifestSource], namespace: str, image: str) -> "InjectedStream":
    """Apply the webhook's function.

    `namespace` is for manifests that name none, `image` has kubectl for launchers. Raises
    Unreadable for a file that does not contain manifests.
    """
    given = [document for source in sources for document in documents(source)]
    stream = InjectedStream(namespace, image, _policies(given))
    for document in given:
        stream.add(document)
    return stream


def refused_jobs(cron_job: Json, where: str, policy: NamespacePolicy) -> Sequence["Finding"]:
    """What the webhook refuses in the Jobs of a stored CronJob; the paths start with `where`."""
    stream = InjectedStream(policy.namespace, _UNUSED_IMAGE, {policy.namespace: policy})
    stream.creates_jobs(cron_job, where)
    return stream.findings


class InjectedStream:
    """All documents of some files, in order; they are added one by one.

    `injections` are the documents and List items that changed, and the Jobs of `cron_jobs`; a
    CronJob itself does not change. Manifests with `findings` are in none of them.
    """

    def __init__(self, namespace: str, image: str, policies: Mapping[str, NamespacePolicy]) -> None:
        self._namespace = namespace
        self._policies = policies
        self._context = Context(frozenset(), image)
        self.documents: list[Rewritten] = []
        self.injections: list[Injection] = []
        self.cron_jobs: list[str] = []
        self.findings: list[Finding] = []
        self.warnings: list[str] = []
        """Those of the webhook, also on refused manifests."""
        self._refused: set[int] = set()
        """Manifests with findings, by id()."""

    @property
    def values(self) -> list[Json]:
        return [document.value for document in self.documents]

    def add(self, document: Document) -> None:
        """Add it without refused manifests, rewritten only if it changes, unless nothing is left.

        Raises Unreadable if it cannot be rewritten.
        """
        new = changed(document, self._manifest)
        remaining = _without(self._refused, document.value)
        if remaining is not None:
            # In two steps: items without names are matched by position if none is left out.
            parts = remaining, new and _without(self._refused, new)
            self.documents.append(rewritten(document, *parts))

    def _manifest(self, manifest: Json, where: str) -> Json | None:
        """The changed manifest; None if it stays unchanged, or is refused."""
        before = len(self.findings)
        after = self._injected(manifest, where)
        if len(self.findings) > before:
            self._refused.add(id(manifest))
        return after

    def _injected(self, manifest: Json, where: str) -> Json | None:
        kind = manifest.get("kind")
        if kind == "CronJob":
            self._cron_job(manifest, where)
        if kind not in _REVIEWED:
            return None
        if wrong := misshapen(manifest, where):
            self.findings += wrong
            return None
        if kind == "Namespace":
            self._check_namespace(manifest, where)
            return None
        return self._completed(manifest, where, f"{where}: {titled(manifest)}: ")

    def _completed(self, manifest: Json, where: str, place: str) -> Json | None:
        """A Job or pod as it will be stored; findings and warnings start with `place`."""
        before = _as_sent(manifest, self._namespace)
        try:
            mutate(self._creation(_defaulted(before)), self._context)
            verdict = mutate(self._creation(before), self._context)
        except Denied as denied:
            self.findings += prefixed(place, denied.findings)
            return None
        changed = verdict.manifest != before
        warned = verdict if changed else advise(self._creation(before), self._context)
        self.warnings += [f"{place}{warning}" for warning in warned.warnings]
        if not changed:
            return None
        after = _in_order_of(before, verdict.manifest)
        self.injections.append(Injection(where, before, after))
        return after

    def _cron_job(self, manifest: Json, where: str) -> None:
        """Check the Jobs that a CronJob will create; the CronJob itself is stored unchanged."""
        title = f"{where}: {titled(manifest)}"
        if warning := unknown_keys.on_cron_job(manifest):
            self.warnings.append(f"{title}: {warning}; kubectl edl adopt -f FILE puts them there")
        if self.creates_jobs(manifest, title):
            self.cron_jobs.append(title)

    def creates_jobs(self, manifest: Json, where: str) -> bool:
        """Whether the webhook completes the Jobs of a CronJob; collects why it refuses them."""
        if wrong := misshapen(manifest, where):
            self.findings += wrong if is_labelled(job_template(manifest)) else ()
            return False
        return self._completed(made_job(manifest), where, f"{where}: {JOB_TEMPLATE}.") is not None

    def _check_namespace(self, manifest: Json, where: str) -> None:
        """Validate a Namespace, which is never mutated."""
        request = AdmissionRequest("CREATE", manifest, None, _USER)
        findings = findings_of(validate, request, self._context)
        self.findings += prefixed(f"{where}: {titled(manifest)}: ", findings)

    def _creation(self, manifest: Json) -> AdmissionRequest:
        policy = self._policies.get(manifest["metadata"]["namespace"], namespace_policy.SILENT)
        return AdmissionRequest("CREATE", manifest, None, _USER, policy)


def _without(refused: AbstractSet[int], manifest: Json) -> Json | None:
    """The manifest, a List without its refused items; None if nothing is left."""
    items = manifest.get("items")
    if id(manifest) in refused:
        return None
    if manifest.get("kind") != "List" or not isinstance(items, list):
        return manifest
    cleaned = [_without(refused, item) if isinstance(item, dict) else item for item in items]
    left = [item for item in cleaned if item is not None]
    if all(new is old for new, old in zip(cleaned, items, strict=True)):
        return manifest
    return manifest | {"items": left} if left else None


def _policies(documents: Iterable[Document]) -> Mapping[str, NamespacePolicy]:
    """The policies of Namespaces among the documents, by name."""
    policies: list[NamespacePolicy] = []

    def read(manifest: Json, where: str) -> None:
        if manifest.get("kind") == "Namespace" and not misshapen(manifest, where):
            policies.append(namespace_policy.read(manifest))

    for document in documents:
        changed(document, read)
    return {policy.namespace: policy for policy in policies}


def _as_sent(manifest: Json, namespace: str) -> Json:
    """The manifest with its namespace, which addresses contain, and with default labels.

    The API server gives a Job without labels those of its pods (batch/v1, SetDefaults_Job).
    """
    if manifest["kind"] == "Job" and not labels(manifest) and labels(template(manifest)):
        manifest = with_metadata(manifest, labels=labels(template(manifest)))
    return manifest if metadata(manifest).get("namespace") else _with_namespace(manifest, namespace)


def _with_namespace(manifest: Json, namespace: str) -> Json:
    meta = metadata(manifest)
    first = {"name": meta["name"]} if "name" in meta else {}
    return manifest | {"metadata": first | {"namespace": namespace} | meta}


def _defaulted(manifest: Json) -> Json:
    """The Job with batch/v1's default restartPolicy, Always."""
    pods = template(manifest)
    if manifest["kind"] != "Job" or (pods.get("spec") or {}).get("restartPolicy"):
        return manifest
    return with_spec(manifest, template=with_spec(pods, restartPolicy="Always"))


def _in_order_of(before: Json, after: Json) -> Json:
    """Reorder `after` as `before`, so that a diff shows only what is new."""
    common = {name: _ordered(before[name], after[name]) for name in before if name in after}
    return common | {name: value for name, value in after.items() if name not in common}


def _ordered(old: object, new: object) -> object:
    if isinstance(old, dict) and isinstance(new, dict):
        return _in_order_of(old, new)
    if isinstance(old, list) and isinstance(new, list):
        by_name = {name: item for item in old if (name := _name(item))}
        return [_ordered(by_name.get(_name(item)), item) for item in new]
    return new


def _name(item: object) -> str:
    """The name of an item; empty if it has none."""
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else ""
