"""How objects and training jobs are named."""

from typing import NamedTuple


class JobKey(NamedTuple):
    """A training job: several Jobs of one namespace that carry the same `edl.dev/job`."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Target(NamedTuple):
    """One object of the cluster; `kind` as manifests spell it (Job, Pod, Service, …)."""

    kind: str
    namespace: str
    name: str


class Owner(NamedTuple):
    """An object whose deletion takes along what stands around a training job."""

    api_version: str
    kind: str
    name: str
    uid: str
