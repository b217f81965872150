"""Completion candidates read from the cluster; empty on any error."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from click.shell_completion import CompletionItem

from edl import contract
from edl.contract.manifest_parts import labels
from edl.errors import EdlError
from edl.kube.cluster import ListOptions
from kubectl_edl.cli.context import CliContext, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from edl.writes import Json


_KINDS: Final = frozenset({"job", "jobs", "job.batch", "jobs.batch"})
"""The kinds as `-o name` prints them, and as kubectl accepts them."""


def plain(name: str) -> str:
    """`job.batch/mnist` → `mnist`; names with another kind are unchanged, and so match no Job."""
    kind, _, rest = name.partition("/")
    return rest if rest and kind.lower() in _KINDS else name


def _candidates(
    ctx: click.Context, selection: ListOptions, incomplete: str, named: Callable[[Json], str]
) -> list[CompletionItem]:
    cli = ctx.find_object(CliContext)
    if cli is None:
        return []
    names = {field.name for field in fields(Scope)} - {"all_namespaces"}
    scope = Scope(**{name: value for name, value in ctx.params.items() if name in names and value})
    try:
        connection = cli.connect(scope)
        where = connection.namespace if selection.kind == "Job" else ""
        chosen = ListOptions(selection.kind, where, selection.labels)
        listed = connection.cluster.list(chosen).manifests()
    except EdlError:
        return []
    names = {named(manifest) for manifest in listed}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def object_name(manifest: Json) -> str:
    return str(manifest["metadata"]["name"])


def training_job_name(job: Json) -> str:
    """The training job that a Job belongs to; without our label, the Job's own name."""
    return _label(job, contract.JOB) or object_name(job)


def role_name(job: Json) -> str:
    """The role label of a Job; empty if it has none."""
    return _label(job, contract.ROLE)


def _label(manifest: Json, key: str) -> str:
    return str(labels(manifest).get(key, ""))


def _of_job(ctx: click.Context) -> ListOptions:
    """Jobs of the training job that the command line names, or else of all in the namespace."""
    job = plain(ctx.params.get("job") or "")
    return ListOptions("Job", labels=f"{contract.JOB}={job}" if job else contract.FRAMEWORK)


def _completing(
    selection: Callable[[click.Context], ListOptions], named: Callable[[Json], str]
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """A function for click's `shell_complete`."""
    return lambda ctx, _, incomplete: _candidates(ctx, selection(ctx), incomplete, named)


job_names: Final = _completing(
    lambda _: ListOptions("Job", labels=contract.FRAMEWORK), training_job_name
)
role_names: Final = _completing(_of_job, role_name)
plain_job_names: Final = _completing(
    lambda _: ListOptions("Job", labels=f"!{contract.FRAMEWORK}"), object_name
)
"""Jobs without our label."""
namespaces: Final = _completing(lambda _: ListOptions("Namespace"), object_name)
