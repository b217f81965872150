"""Watches all kinds that a decision needs: stores, informers, one snapshot."""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from edl import contract
from edl.errors import Forbidden, NotFound
from edl.kube.cache.informer import Informer
from edl.kube.cache.store import Store
from edl.kube.cluster import RESOURCES, Cluster, ListOptions, ObjectKey
from edl.kube.decode import (
    job_facts,
    namespace_quotas,
    object_facts,
    runtime_classes,
    volume_claims,
)
from edl.kube.decode.config_maps import config_map
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.decode.runtime_classes import RuntimeClassFacts
from edl.kube.dra import dra_facts as dra
from edl.kube.dra.device_index import DeviceChanges
from edl.kube.provisioning import node_pool_facts, request_facts
from edl.model import ObjectRef
from edl.writes import Json

T = TypeVar("T")

SURROUNDINGS: Final = ("PodDisruptionBudget", "ServiceAccount", "RoleBinding")
"""Watched by our label only. Services are all watched: one of another owner may have a job's
name."""
DEVICES: Final = ("ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate")
"""Kinds of dynamic resource allocation: older clusters do not serve them."""
AUTOSCALERS: Final = ("NodePool", "ProvisioningRequest")
"""Karpenter's pools, and the requests that cluster-autoscaler serves besides pending pods."""
RULES: Final = (
    *("ResourceQuota", "LimitRange", "RuntimeClass", "PersistentVolumeClaim"),
    *("ConfigMap", *DEVICES, *AUTOSCALERS),
)
"""Kinds that a reader may lack the right to list; most answers are correct without them."""


class Stores:
    """One store per kind; iteration yields each with the selection of objects that it holds."""

    def __init__(
        self,
        changed: Callable[[], None] = lambda: None,
        system_namespace: str = contract.SYSTEM_NAMESPACE,
        ignored: Collection[str] = (),
    ) -> None:
        """`ignored`: further namespaces whose Jobs and pods no webhook reviews."""
        self._changed = changed
        self._all: list[tuple[ListOptions, Store[Any]]] = []
        shapes = ShapeInterner()
        unmanaged = frozenset({"kube-system", system_namespace, *ignored})
        self.nodes = self._of("Node", object_facts.node)
        self.pods = self._of("Pod", partial(object_facts.pod, shapes=shapes, unmanaged=unmanaged))
        decode_job = partial(_managed_job, shapes=shapes, unmanaged=unmanaged)
        self.jobs = self._selected(ListOptions("Job", labels=contract.FRAMEWORK), decode_job)
        self.priorities = self._of("PriorityClass", object_facts.priority)
        self.namespaces = self._of("Namespace", object_facts.namespace)
        self.quotas = self._of("ResourceQuota", namespace_quotas.quota)
        self.ranges = self._of("LimitRange", namespace_quotas.limit_range)
        self.runtimes = self._of("RuntimeClass", runtime_classes.runtime_class)
        self.claims = self._of("PersistentVolumeClaim", volume_claims.claim)
        teams = ListOptions("ConfigMap", system_namespace, name=contract.TEAMS_CONFIG_MAP)
        self.teams = self._selected(teams, config_map)
        """The ConfigMap with the teams, if it exists."""
        self.slices = self._of("ResourceSlice", dra.resource_slice)
        self.classes = self._of("DeviceClass", dra.device_class)
        self.resource_claims = self._of("ResourceClaim", dra.resource_claim)
        self.templates = self._of("ResourceClaimTemplate", dra.template)
        self.pools = self._of("NodePool", node_pool_facts.node_pool)
        self.requests = self._of("ProvisioningRequest", request_facts.capacity_request)
        services = self._of("Service", partial(object_facts.owned_object, "Service"))
        self.owned_objects = {"Service": services}
        for kind in SURROUNDINGS:
            ours = ListOptions(kind, labels=contract.JOB)
            decode = partial(object_facts.owned_object, kind)
            self.owned_objects[kind] = self._selected(ours, decode)

    def _of(self, kind: str, decode: Callable[[bytes], T | None]) -> Store[T]:
        """Adds the store of all objects of a kind."""
        return self._selected(ListOptions(kind), decode)

    def _selected(self, selection: ListOptions, decode: Callable[[bytes], T | None]) -> Store[T]:
        store = Store(decode, self._changed)
        self._all.append((selection, store))
        return store

    def __iter__(self) -> Iterator[tuple[ListOptions, Store[Any]]]:
        return iter(self._all)

    @property
    def _devices(self) -> tuple[Store[Any], ...]:
        return self.slices, self.classes, self.resource_claims, self.templates

    @property
    def devices_read(self) -> bool:
        """Whether devices of dynamic resource allocation are served and have been read."""
        return all(store.synced and store.served for store in self._devices)

    @property
    def autoscaled(self) -> bool:
        """Whether the API server serves kinds of a node autoscaler.

        For Karpenter there must be a NodePool: without any it creates no nodes.
        """
        return len(self.pools) > 0 or self.takes_requests

    @property
    def takes_requests(self) -> bool:
        """Whether the API server serves ProvisioningRequests, and they may be read."""
        return self.requests.synced and self.requests.served

    def take_device_changes(self, *, whole: bool) -> DeviceChanges:
        return DeviceChanges(*(store.take_changes(whole=whole) for store in self._devices))

    @property
    def synced(self) -> bool:
        return all(store.synced for _, store in self)

    def accept(self, kind: str, body: Json) -> None:
        """Stores what a write of this process returned; kinds that are not watched are ignored."""
        for selection, store in self:
            if selection.kind == kind:
                store.accept(body)

    def deleting(self, target: ObjectRef) -> Callable[[], None]:
        """Called before a deletion of this process; the result, if the object is gone already."""
        key = ObjectKey(target.namespace, target.name)
        held = [
            (store, store.version(key))
            for selection, store in self
            if selection.kind == target.kind
        ]

        def forget() -> None:
            for store, version in held:
                store.forget(key, version)

        return forget

    @property
    def runtimes_read(self) -> list[RuntimeClassFacts] | None:
        """None until they are listed: a class that may not be read does not count as missing."""
        return self.runtimes.values() if self.runtimes.synced else None


def _managed_job(raw: bytes, shapes: ShapeInterner, unmanaged: Collection[str]) -> JobFacts | None:
    job = job_facts.job(raw, shapes)
    return None if job.key.namespace in unmanaged else job


def read_once(
    cluster: Cluster,
    missed: Callable[[str, Forbidden], None],
    ignored: Collection[str] = (),
) -> Stores:
    """Lists each kind once, for a single decision of the plugin. Raises ClusterError.

    Dependents of jobs matter only to writers, and not every reader may list them. `missed` is
    called with the kinds of RULES that may not be read.
    """

    def read(pair: tuple[ListOptions, Store[Any]]) -> None:
        try:
            fill(cluster, *pair)
        except Forbidden as error:
            if pair[0].kind not in RULES:
                raise
            missed(pair[0].kind, error)
        except NotFound:
            if not RESOURCES[pair[0].kind].optional:
                raise
            pair[1].mark_absent()

    stores = Stores(system_namespace=cluster.system_namespace, ignored=ignored)
    pairs = [pair for pair in stores if pair[0].kind not in SURROUNDINGS]
    with ThreadPoolExecutor(len(pairs)) as pool:
        for _ in pool.map(read, pairs):
            pass  # raises what a list raised
    return stores


def fill(cluster: Cluster, selection: ListOptions, store: Store[Any]) -> None:
    listing = cluster.list(selection)
    items = {item.key: item for item in map(store.item, listing.items)}
    # A proxy that aggregates clusters gives a list no version.
    store.replace(items, int(listing.version or 0))


def informers(
    cluster: Cluster,
    stores: Stores,
    restarted: Callable[[str], None] = lambda _kind: None,
    received: Callable[[str], None] = lambda _kind: None,
) -> list[Informer[Any]]:
    """One informer per store, not started yet."""
    return [
        Informer(
            cluster,
            selection,
            store,
            partial(restarted, selection.kind),
            partial(received, selection.kind),
        )
        for selection, store in stores
    ]
