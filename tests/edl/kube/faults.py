"""A cluster that goes wrong when a test says so."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from edl.kube.cluster import Cluster, ListOptions, RawList, Watch
from edl.kube.cluster_decorator import ClusterDecorator
from edl.model import ObjectRef
from edl.writes import Json


class FaultyCluster(ClusterDecorator):
    """`fails[verb]` are raised, in order, before the real cluster is asked; `asked` counts."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.fails: dict[str, list[Exception]] = {}
        self.asked: Counter[str] = Counter()

    def get(self, target: ObjectRef) -> Json:
        self._check("get")
        return super().get(target)

    def list(self, selection: ListOptions) -> RawList:
        self._check("list")
        return super().list(selection)

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        self._check("list")
        return super().pages(selection)

    def watch(self, selection: ListOptions, version: str) -> Watch:
        self._check("watch")
        return super().watch(selection, version)

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        self._check("create", target)
        return super().create(target, manifest, dry_run=dry_run)

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        self._check("patch", target)
        return super().patch(target, body, dry_run=dry_run)

    def add_condition(self, target: ObjectRef, condition: Mapping[str, str], version: str) -> Json:
        self._check("condition", target)
        return super().add_condition(target, condition, version)

    def delete(self, target: ObjectRef, *, version: str = "", uid: str = "") -> None:
        self._check("delete", target)
        super().delete(target, version=version, uid=uid)

    def serves(self, kind: str) -> bool:
        self._check("serves")
        return super().serves(kind)

    def _check(self, verb: str, target: ObjectRef | None = None) -> None:
        """Errors under `patch NAME` are for that object, under `patch` for any."""
        self.asked[verb] += 1
        for key in (verb, f"{verb} {target.name}" if target else verb):
            if errors := self.fails.get(key):
                raise errors.pop(0)
