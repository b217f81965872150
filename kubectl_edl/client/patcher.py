"""The patchers that `--dry-run` selects from; commands work with any of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from edl.errors import Conflict
from edl.kube.cluster import Cluster
from edl.patches.merge_patch import merged
from edl.writes import Json, Patch
from kubectl_edl.cli.command_errors import Refused


class Patcher(Protocol):
    """Performs patches; `remark` follows every sentence about what was done."""

    @property
    def remark(self) -> str: ...

    def patch(self, patch: Patch) -> Json:
        """The object as it is afterwards. Raises Conflict when its version is not the newest."""
        ...


@dataclass(frozen=True, slots=True)
class Real:
    """Changes the cluster."""

    cluster: Cluster
    remark: str = ""

    def patch(self, patch: Patch) -> Json:
        return self.cluster.patch(patch.target, _preconditioned(patch))


@dataclass(frozen=True, slots=True)
class ServerDryRun:
    """Lets the API server and its webhooks check the change, and changes nothing."""

    cluster: Cluster
    remark: str = " (server dry run)"

    def patch(self, patch: Patch) -> Json:
        return self.cluster.patch(patch.target, _preconditioned(patch), dry_run=True)


@dataclass(frozen=True, slots=True)
class ClientDryRun:
    """Sends nothing: reads the object and shows what it would become."""

    cluster: Cluster
    remark: str = " (dry run)"

    def patch(self, patch: Patch) -> Json:
        found = self.cluster.get(patch.target)
        if found["metadata"]["resourceVersion"] != patch.version:
            raise Conflict(f"{patch.target.name} changed meanwhile; read it again")
        return merged(found, patch.body)


ACTUATORS: Final[Mapping[str, Callable[[Cluster], Patcher]]] = {
    "none": Real,
    "client": ClientDryRun,
    "server": ServerDryRun,
}


def _preconditioned(patch: Patch) -> Json:
    return merged(patch.body, {"metadata": {"resourceVersion": patch.version}})


_ATTEMPTS: Final = 6
_PAUSE: Final = 0.05
_Result = TypeVar("_Result")


def with_fresh_state(change: Callable[[], _Result], sleep: Callable[[float], None]) -> _Result:
    """Run `change`, which reads, decides and writes, again after each write conflict."""
    for attempt in range(_ATTEMPTS):
        try:
            return change()
        except Conflict:
            sleep(_PAUSE * 2**attempt)
    raise Refused(f"the object changed {_ATTEMPTS} times while it was being written; try again")
