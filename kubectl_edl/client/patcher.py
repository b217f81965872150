"""Patches that respect `--dry-run`, a retry after a conflict, and deletions of one very Job."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from msgspec import structs

from edl.errors import Conflict, NotFound
from edl.kube.cluster import Cluster, PluginCluster, find
from edl.kube.writer.conditional_patch import patched, still_fits
from edl.model import ObjectRef
from edl.patches.merge_patch import merged
from edl.writes import Json, Patch
from kubectl_edl.cli.command_errors import Refused

REMARKS: Final[Mapping[str, str]] = {
    "none": "",
    "client": " (dry run)",
    "server": " (server dry run)",
}
"""Appended to each sentence about a change, by `--dry-run`."""


@dataclass(frozen=True, slots=True)
class Patcher:
    """Sends patches as `--dry-run` specifies.

    server: the API server and its webhooks validate them without changing anything. client: nothing
    is sent; the object is read and the patch is applied to it locally.
    """

    cluster: Cluster
    dry_run: str = "none"

    @property
    def remark(self) -> str:
        return REMARKS[self.dry_run]

    def patch(self, patch: Patch) -> Json:
        """The patched object. Raises Conflict if it has changed in what the patch relies on."""
        if self.dry_run != "client":
            return patched(self.cluster, structs.replace(patch, dry_run=self.dry_run == "server"))
        fresh = self.cluster.get(patch.target)
        if fresh["metadata"]["resourceVersion"] != patch.version and not still_fits(patch, fresh):
            raise Conflict(f"{patch.target.name} changed meanwhile; read it again")
        return merged(fresh, patch.body)


_ATTEMPTS: Final = 6
_PAUSE: Final = 0.05
_Result = TypeVar("_Result")


def with_fresh_state(change: Callable[[], _Result], sleep: Callable[[float], None]) -> _Result:
    """Run `change`, which reads, decides and writes, and retry it after each write conflict."""
    for attempt in range(_ATTEMPTS):
        try:
            return change()
        except Conflict:
            sleep(_PAUSE * 2**attempt)
    raise Refused(f"the object changed {_ATTEMPTS} times while it was being written; try again")


def delete_job(cluster: PluginCluster, job: Json, *, dry_run: bool = False) -> None:
    """Delete this Job by its uid: a newer one may have its name. It may be gone already.

    Raises Conflict if an admission webhook answers so, or the API server for another reason.
    """
    target, uid = ObjectRef.of("Job", job), job["metadata"]["uid"]
    with suppress(NotFound):
        try:
            cluster.delete(target, uid=uid, dry_run=dry_run)
        except Conflict:
            if is_there(cluster, job):  # else it was deleted in the meantime, and created again
                raise


def is_there(cluster: Cluster, job: Json) -> bool:
    """Whether this very Job still exists."""
    stored = find(cluster, ObjectRef.of("Job", job))
    return bool(stored and stored["metadata"]["uid"] == job["metadata"]["uid"])
