"""Objects of an API server as they come and change, and stores that are told of them."""

import copy
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from edl import contract
from edl.kube.cache.watched_kinds import Stores
from edl.writes import Json
from tests.edl.kube import manifests

if TYPE_CHECKING:
    from edl.kube.cache.store import Store

ALL_ROLES = {"edl.dev/roles": "ps=1,worker=1..4"}


class World:
    """Objects of an API server, and the stores that are told of them, late or twice or never."""

    def __init__(self) -> None:
        self.stores = Stores()
        self.version = 100
        self.objects: dict[tuple[str, str], Json] = {}
        self._stores: dict[str, Store[Any]] = {
            selection.kind: store for selection, store in self.stores
        }

    def write(self, kind: str, body: Json) -> bytes:
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.objects[kind, body["metadata"]["name"]] = body
        return msgspec.json.encode(body)

    def tell(self, kind: str, raw: bytes, *, gone: bool = False) -> None:
        store = self._stores[kind]
        store.update(store.item(raw), gone=gone)

    def delete(self, kind: str, name: str) -> None:
        body = self.objects.pop((kind, name), None)
        if body:
            raw = self.write(kind, body)
            del self.objects[kind, name]
            self.tell(kind, raw, gone=True)

    def accept(self, kind: str, body: Json) -> None:
        self.write(kind, body)
        self.stores.accept(kind, body)

    def relist(self, kind: str) -> None:
        store = self._stores[kind]
        bodies = [body for (found, _), body in self.objects.items() if found == kind]
        items = [store.item(msgspec.json.encode(body)) for body in bodies]
        store.replace({item.key: item for item in items}, self.version)


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AN_HOUR_LATER = "2026-01-01T02:00:00Z"
"""Than the time of most states: only a wrong clock can have written it."""
LEAVING = {"deletionTimestamp": manifests.CREATED}
OURS = {"labels": {"edl.dev/framework": "tensorflow", "edl.dev/job": "mnist"}}
PLACES: tuple[Json, ...] = (
    {},
    {"node": "n1", "phase": "Running"},
    {"node": "n2", "phase": "Running", "cpu": "2"},
    {"node": "n1", "phase": "Running", "metadata": LEAVING},
    {"node": "n2", "phase": "Succeeded"},
    {"node": "unknown", "phase": "Running"},
)


def pods() -> Iterator[Json]:
    """Every pod of every owner at every stage of its life."""
    for name in ("p1", "p2", "p3"):
        yield manifests.pod(name, priority=5)
        for place in PLACES:
            yield manifests.pod(name, **place)
            meta = {**place.get("metadata", {}), "labels": {"app": "web"}}
            yield manifests.pod(name, **{**place, "metadata": meta})
        for claim, place in itertools.product(("data", "logs"), PLACES):
            yield manifests.pod(name, **{**place, "spec": with_claim(claim)})
        for place, foe in itertools.product(PLACES, ("alone", "web")):
            meta = {**place.get("metadata", {}), "labels": {"app": "web"}}
            spec = {"affinity": {"podAntiAffinity": {REQUIRED: [apart_from(foe)]}}}
            yield manifests.pod(name, **{**place, "metadata": meta, "spec": spec})
    for owner in ("mnist-ps", "mnist-worker", "alone", "stranger"):
        for index, again in itertools.product((0, 1), ("", "-again")):
            for place, labels in itertools.product(PLACES, ({}, OURS, {"labels": {"app": "web"}})):
                meta = {**place.get("metadata", {}), **labels}
                fields = {**place, "metadata": meta}
                body = manifests.job_pod(f"{owner}-{index}", index, f"{owner}{again}", **fields)
                yield body
    for job, rank, place in itertools.product(("mnist", "bare"), "01", PLACES):
        own = {"edl.dev/framework": "tensorflow", "edl.dev/job": job, "edl.dev/role": "worker"}
        notes = {"edl.dev/rank": rank, "edl.dev/size": "2"} | ALL_ROLES
        meta = {**place.get("metadata", {}), "labels": own, "annotations": notes}
        yield manifests.pod(f"{job}-bare-{rank}", **{**place, "metadata": meta})


def with_claim(*names: str) -> Json:
    sources = ({"persistentVolumeClaim": {"claimName": name}} for name in names)
    return {"volumes": [{"name": f"v{at}", **one} for at, one in enumerate(sources)]}


def claim(name: str, phase: str = "Bound", **fields: Any) -> Json:  # noqa: ANN401
    return {"metadata": manifests.metadata(name, "web", **fields), "status": {"phase": phase}}


def apart_from(app: str) -> Json:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}


AVOIDING: Json = {"affinity": {"podAntiAffinity": {REQUIRED: [apart_from("web")]}}}


def jobs() -> Iterator[Json]:
    stages: tuple[Json, ...] = (
        {},
        {"suspend": False, "parallelism": 2, "completions": 2},
        {"suspend": False, "conditions": ["Complete"]},
        {"metadata": LEAVING},
        {"pod": {"priorityClassName": "high"}},
        {"pod": {"runtimeClassName": "kata"}},
        {"pod": with_claim("data")},
        {"pod": AVOIDING},
        {"notes": {contract.RESIZED_AT: AN_HOUR_LATER}},
    )
    for stage, again in itertools.product(stages, (False, True)):
        yield job("alone", "", again=again, **stage)
        for role in ("ps", "worker"):
            yield job(f"mnist-{role}", "mnist", again=again, **stage)


def job(name: str, group: str = "", *, again: bool = False, **fields: Any) -> Json:  # noqa: ANN401
    """`again`: made anew under the same name, so that other pods name it as their owner."""
    labels = {"edl.dev/framework": "tensorflow"}
    if group:
        labels |= {"edl.dev/job": group, "edl.dev/role": name.rpartition("-")[2]}
    notes = fields.pop("notes", {}) | (ALL_ROLES if group else {})
    body = manifests.job(name, labels=labels, notes=notes, **fields)
    body["metadata"]["uid"] = f"uid-{name}{'-again' * again}"
    body["spec"]["template"]["metadata"] = {"labels": {"app": group or name}}
    return body


def others() -> Iterator[tuple[str, Json]]:
    for name, ready in itertools.product(("n0", "n1", "n2"), (True, False)):
        yield "Node", manifests.node(name, ready=ready)
    for name, value, default in itertools.product(("high", "low"), (0, 3), (True, False)):
        meta = manifests.metadata(name)
        yield "PriorityClass", {"metadata": meta, "value": value, "globalDefault": default}
    for labels in ({}, {"edl.dev/kubexec": "enabled"}, {"edl.dev/injection": "enabled"}):
        notes = {"edl.dev/gpu-budget": "3"} if "edl.dev/injection" in labels else {}
        yield "Namespace", {"metadata": manifests.metadata("web", labels=labels, annotations=notes)}
    names = ("mnist", "alone", "bare")
    for name, owner in itertools.product(names, ("", *names)):
        labels = {"edl.dev/job": owner} if owner else {}
        body = {"metadata": manifests.metadata(name, "web", labels=labels)}
        yield "Service", body
        if owner:
            yield "PodDisruptionBudget", copy.deepcopy(body)
    quantities = (("9", "2"), ("9", "5"), ("4", "4"))
    for (hard, used), name in itertools.product(quantities, ("requests.cpu", "pods")):
        status = {"hard": {name: hard}, "used": {name: used}}
        meta = manifests.metadata("q", "web")
        yield "ResourceQuota", {"metadata": meta, "spec": status, "status": status}
    for name, phase in itertools.product(("data", "logs"), ("Pending", "Lost")):
        yield "PersistentVolumeClaim", claim(name, phase)
    for cpu in ("250m", "1"):
        overhead = {"podFixed": {"cpu": cpu}}
        yield "RuntimeClass", {"metadata": manifests.metadata("kata"), "overhead": overhead}
    for cpu in ("1", "2"):
        limit = {"type": "Container", "defaultRequest": {"cpu": cpu}, "min": {"cpu": cpu}}
        yield (
            "LimitRange",
            {"metadata": manifests.metadata("r", "web"), "spec": {"limits": [limit]}},
        )


def node_pools() -> Iterator[tuple[str, Json]]:
    """Karpenter's pool of two nodes, which may also belong to none."""
    for name in ("n0", "n1"):
        body = manifests.node(name)
        body["metadata"]["labels"][contract.NODE_POOL] = "default"
        yield "Node", body
    for used in ("0", "6"):
        body = {"metadata": manifests.metadata("default"), "spec": {"limits": {"cpu": "20"}}}
        yield "NodePool", body | {"status": {"resources": {"cpu": used}}}


BODIES: list[tuple[str, Json]] = [
    *(("Pod", body) for body in pods()),
    *(("Job", body) for body in jobs()),
    *others(),
    *node_pools(),
]
