"""Candidates for the shell that only the cluster knows. A completion never fails: it is empty."""

import json

import click
from click.shell_completion import CompletionItem

from edl import contract
from edl.errors import EdlError
from edl.kube.cluster import Selection
from kubectl_edl.world import Scope, World


def job_names(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 (click's signature)
    incomplete: str,
) -> list[CompletionItem]:
    """Training jobs of the namespace that the command line names."""
    return _candidates(ctx, Selection("Job", labels=contract.FRAMEWORK), incomplete)


def plain_job_names(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 (the same)
    incomplete: str,
) -> list[CompletionItem]:
    """Jobs that are not elastic yet."""
    return _candidates(ctx, Selection("Job", labels=f"!{contract.FRAMEWORK}"), incomplete)


def namespaces(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 (the same)
    incomplete: str,
) -> list[CompletionItem]:
    return _candidates(ctx, Selection("Namespace"), incomplete)


def _candidates(ctx: click.Context, selection: Selection, incomplete: str) -> list[CompletionItem]:
    world = ctx.find_object(World)
    if world is None:
        return []
    given = ctx.params.get
    scope = Scope(
        namespace=given("namespace") or "",
        context=given("context") or "",
        kubeconfig=given("kubeconfig") or "",
    )
    try:
        connection = world.connect(scope)
        where = connection.namespace if selection.kind == "Job" else ""
        chosen = Selection(selection.kind, where, selection.labels)
        items = connection.cluster.list(chosen).items
    except EdlError:
        return []
    named = object_name if selection.kind == "Namespace" else training_job_name
    names = {named(item) for item in items}
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def object_name(raw: bytes) -> str:
    name: str = json.loads(raw)["metadata"]["name"]
    return name


def training_job_name(raw: bytes) -> str:
    """The training job that a Job belongs to; without our label its own name."""
    labels: dict[str, str] = json.loads(raw)["metadata"].get("labels") or {}
    return labels.get(contract.JOB) or object_name(raw)
