"""Creates several Jobs together: in the end all of them exist, or none.

A server dry run of all comes first, so that most errors occur before anything is created. If one
creation fails, the Jobs created before it are deleted; none of them has started, because a
training job waits for all its roles. Ctrl-C does the same after the answer to the creation in
flight. A Job may remain if its creation got no answer, or its deletion failed: it is named.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from threading import Event
from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.errors import (
    AlreadyExists,
    ClusterError,
    Finding,
    Forbidden,
    Invalid,
    Unreachable,
    WebhookAway,
    refuse,
)
from edl.kube.cluster import ListOptions, find
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.patcher import delete_job
from kubectl_edl.resources.source_manifest import as_applied

_PATIENCE: Final = 5.0
"""Seconds for which Ctrl-C waits for the answer to a creation."""


def create_all(connection: ClusterConnection, manifests: Sequence[Json]) -> list[Json]:
    """The stored Jobs. Raises Denied with every error before any Job is created."""
    rehearse(connection, manifests)
    sent, created, stopped, ended = list[Json](), list[Json](), Event(), Event()

    def create_each() -> None:
        try:
            for manifest in manifests:
                if not stopped.is_set():
                    sent.append(manifest)
                    created.append(_create(connection, manifest, dry_run=False))
        finally:
            ended.set()

    try:  # Ctrl-C interrupts the main thread alone
        ThreadPoolExecutor(1).submit(create_each).result()
    except (ClusterError, KeyboardInterrupt) as error:
        stopped.set()
        with suppress(KeyboardInterrupt):  # a second one waits no longer
            ended.wait(_PATIENCE)
        failed = (sent or manifests)[-1]
        lost = sent[len(created) :]
        late = (job["metadata"]["name"] for job in lost)  # a look now may come too early
        unknown = _unanswered(connection, lost, error) if ended.is_set() else late
        undone = _roll_back(connection, created, unknown)
        why = str(error) or "interrupted"
        raise Refused(f"job.batch/{failed['metadata']['name']}: {why}; {undone}") from error
    return created


def _unanswered(
    connection: ClusterConnection, sent: Sequence[Json], error: BaseException
) -> Iterator[str]:
    """Names of Jobs that the API server may have stored, as far as its answer and a look say.

    They are not deleted: an equal Job may be another client's, such as a second run of this
    command.
    """
    if isinstance(error, Unreachable):
        refused = error.status == HTTPStatus.TOO_MANY_REQUESTS or isinstance(error, WebhookAway)
    else:
        refused = isinstance(error, ClusterError)
    for manifest in () if refused else sent:
        with suppress(ClusterError, KeyboardInterrupt):
            if stored_as(connection, manifest) is None:
                continue
        yield manifest["metadata"]["name"]


def stored_as(connection: ClusterConnection, manifest: Json) -> Json | None:
    """The Job that was created from an equal manifest. Raises ClusterError."""
    wanted = as_applied(manifest, connection.namespace)
    target = ObjectRef("Job", connection.namespace, manifest["metadata"]["name"])
    stored = find(connection.cluster, target)
    applied = [annotations(job or {}).get(contract.LAST_APPLIED) for job in (stored, wanted)]
    return stored if applied[0] == applied[1] else None


def rehearse(connection: ClusterConnection, manifests: Sequence[Json]) -> list[Json]:
    """The Jobs as they would be stored. Raises Denied with every error."""
    answers = {job["metadata"]["name"]: _rehearsed(connection, job) for job in manifests}
    findings = [answer for answer in answers.values() if isinstance(answer, Finding)]
    taken = [name for name, answer in answers.items() if answer is None]
    refuse([*_existing(connection, manifests, taken), *findings])
    stored = [answer for answer in answers.values() if isinstance(answer, dict)]
    for job in stored:
        check_completed(connection, job, "--dry-run client -o yaml writes the manifests")
    return stored


def check_completed(connection: ClusterConnection, stored: Json, besides: str) -> None:
    """Raises Refused, with `besides`, if no webhook completed this Job of a dry run."""
    if contract.INJECTED_MAX not in annotations(stored):
        doctor = f"kubectl edl doctor{connection.scope.within(connection.namespace).job_flags}"
        raise Refused(
            f"no webhook completes labelled Jobs in namespace {connection.namespace}, so they "
            f"would run as ordinary ones: {doctor} finds the cause; {besides}"
        )


def _existing(
    connection: ClusterConnection, manifests: Sequence[Json], taken: Sequence[str]
) -> list[Finding]:
    """A finding if a training job of this name has Jobs, and one per other Job of a `taken` name.

    A training job is refused also if none of its Jobs has one of these names: their roles would
    conflict.
    """
    meta = manifests[0]["metadata"]
    job = meta["labels"].get(contract.JOB, meta["name"])
    namespace = connection.namespace
    try:
        listed = connection.cluster.list(ListOptions("Job", namespace, f"{contract.JOB}={job}"))
        roles = sorted(manifest["metadata"]["name"] for manifest in listed.manifests())
    except Forbidden:
        roles = []
    where = f"exists already in namespace {namespace}"
    remedy, there = "another NAME, or: kubectl {} {}{}", connection.scope.within(namespace)
    delete = remedy.format("edl delete", job, there.job_flags)
    missing = [name for one in manifests if (name := one["metadata"]["name"]) not in roles]
    if taken and missing:
        apply = f"-o yaml --dry-run client | kubectl apply{there.flags} -f -"
        delete += f"; for {', '.join(missing)} alone: the same command with {apply}"
    whole = Finding(f"training job {job}", f"{where}, with {', '.join(roles)}", delete)
    others = [
        Finding(f"job.batch/{name}", where, remedy.format("delete job", name, there.flags))
        for name in taken
        if name not in roles
    ]
    return [whole, *others] if roles else others


def _rehearsed(connection: ClusterConnection, manifest: Json) -> Json | Finding | None:
    """The Job as it would be stored, or why not; None if one of its name exists."""
    try:
        return _create(connection, manifest, dry_run=True)
    except AlreadyExists:
        return None
    except Invalid as error:
        return Finding(f"job.batch/{manifest['metadata']['name']}", str(error))


def _create(connection: ClusterConnection, manifest: Json, *, dry_run: bool) -> Json:
    target = ObjectRef("Job", connection.namespace, manifest["metadata"]["name"])
    return connection.cluster.create(
        target, as_applied(manifest, connection.namespace), dry_run=dry_run
    )


def _roll_back(
    connection: ClusterConnection, created: Sequence[Json], unknown: Iterable[str]
) -> str:
    """Delete the created Jobs; returns a sentence about what remains.

    `unknown` names further Jobs, and is read after the deletions: their creation has had that long.
    """
    gone, standing = list[str](), list[str]()
    for job in created:
        try:
            delete_job(connection.cluster, job)
            gone.append(job["metadata"]["name"])
        except (ClusterError, KeyboardInterrupt):
            standing.append(job["metadata"]["name"])
    parts = [f"what was created is deleted again: {', '.join(gone)}"] if gone else []
    there = connection.scope.within(connection.namespace).flags
    if names := " ".join(standing):
        parts.append(f"may still be there: kubectl delete job {names}{there} --ignore-not-found")
    if names := " ".join(name for name in unknown if name not in gone):
        parts.append(
            "perhaps created, perhaps by another run; look first: "
            f"kubectl get job {names}{there} -o yaml"
        )
    return "; ".join(parts) or "nothing was created"
