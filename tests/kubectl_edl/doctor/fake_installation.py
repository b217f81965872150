"""A cluster with kubectl-edl installed, whose API server answers access reviews and dry runs."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from certs.secrets import ensure, usual
from edl import contract
from edl.errors import ClusterError, Forbidden
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.kube.cluster import PluginCluster
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.install.installation_values import VALUES_CONFIG_MAP
from manifests import render
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import NOW, Stage, lease

_KINDS = (
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ClusterRoleBinding",
    "Deployment",
    "Secret",
    "Service",
)


@dataclass
class FakeApi:
    """Answers of the API server besides stored objects."""

    denied: frozenset[tuple[str, str, str]] = frozenset()
    """(user, verb, resource) that access reviews refuse; the user is empty for one's own."""
    user: str = "ann"
    may_review_others: bool = True
    may_review_own: bool = True
    asks: bool = True
    """Whether it calls the webhook for labelled Jobs."""
    refusal: ClusterError | None = None
    """The error for a labelled Job instead of a call of the webhook."""
    probes: list[Json] = field(default_factory=list)

    def __call__(self, cluster: PluginCluster) -> PluginCluster:
        return _Answering(cluster, self)

    def review(self, kind: str, body: Mapping[str, Any]) -> Json:
        if kind == "SelfSubjectReview":
            return {"status": {"userInfo": {"username": self.user}}}
        spec = body["spec"]
        if kind == "SubjectAccessReview" and not self.may_review_others:
            raise Forbidden('"ann" may not create subjectaccessreviews.authorization.k8s.io', 403)
        if kind == "SelfSubjectAccessReview" and not self.may_review_own:
            raise Forbidden(
                '"ann" may not create selfsubjectaccessreviews.authorization.k8s.io', 403
            )
        asked, user = spec["resourceAttributes"], spec.get("user", "").rpartition(":")[2]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        return {"status": {"allowed": (user, asked["verb"], resource) not in self.denied}}

    def probe(self, manifest: Mapping[str, Any]) -> Json:
        self.probes.append(dict(manifest))
        if self.refusal:
            raise self.refusal
        request = AdmissionRequest("CREATE", dict(manifest), None, "ann")
        context = Context(frozenset(), "kubectl-edl:test")
        return mutate(request, context).manifest if self.asks else dict(manifest)


class _Answering(ClusterWrapper):
    def __init__(self, cluster: PluginCluster, server: FakeApi) -> None:
        super().__init__(cluster)
        self._server = server

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        if target.kind.endswith("Review"):
            return self._server.review(target.kind, manifest)
        if target.kind == "Job" and dry_run:
            return self._server.probe(manifest)
        return super().create(target, manifest, dry_run=dry_run)


def installed(stage: Stage, server: FakeApi, change: Callable[[Json], None] | None = None) -> Stage:
    """The checked objects of manifests/, ready and trusted; `change` modifies any of them."""
    for document in _documents():
        if document["kind"] in _KINDS:
            manifest = _ready(deepcopy(document))
            if change:
                change(manifest)
            stage.create(manifest)
    stage.cluster.create(ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, VALUES_CONFIG_MAP), {})
    ensure(stage.cluster, usual(), NOW)
    lease(stage)
    stage.wrapped = server
    return stage


@cache
def _documents() -> tuple[Json, ...]:
    """YAML is the slowest part of it."""
    return tuple(render.load())


def target(kind: str, name: str) -> ObjectRef:
    return ObjectRef(
        kind,
        contract.SYSTEM_NAMESPACE if kind in ("Deployment", "Secret", "Service") else "",
        name,
    )


def _ready(document: Json) -> Json:
    if document["kind"] != "Deployment":
        return document
    counts = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    status = dict.fromkeys(counts, document["spec"]["replicas"])
    return document | {"status": status | {"observedGeneration": 1}}
