"""References to objects and training jobs."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self


class JobKey(NamedTuple):
    """A training job: the Jobs of one namespace with the same `edl.dev/job`."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ObjectRef(NamedTuple):
    """One object of the cluster; `kind` as manifests spell it (Job, Pod, Service, …)."""

    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, kind: str, manifest: Mapping[str, Any]) -> Self:
        """The object of a manifest that names its namespace."""
        return cls(kind, manifest["metadata"]["namespace"], manifest["metadata"]["name"])


JOB_TYPE: Final = ("batch/v1", "Job")
CRON_JOB_TYPE: Final = ("batch/v1", "CronJob")
"""`apiVersion` and `kind` of an owner reference: other groups have kinds of these names, too."""


class Owner(NamedTuple):
    """An owner of a training job's dependents, which are deleted with it."""

    api_version: str
    kind: str
    name: str
    uid: str
