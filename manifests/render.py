"""Writes the files of the chart, or all documents, also for a webhook outside the cluster."""

import base64
import copy
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final

import click

from edl import contract
from edl.writes import Json
from manifests import chart_files, installation
from manifests.documents import BASE, Documents, load, to_yaml
from manifests.values import DEFAULTS, Values

__all__ = ["BASE", "load", "to_yaml"]

_WORKLOADS: Final = frozenset({"Deployment", "Service", "PodDisruptionBudget", "ResourceQuota"})
_CONFIGURATIONS: Final = frozenset(
    {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
)
_HEADER: Final = "# Written by `python -m manifests.render`; edit manifests/base instead.\n"


def without_workloads(documents: Iterable[Json]) -> Documents:
    """The documents other than workloads, for processes that run outside the cluster."""
    return tuple(document for document in documents if document["kind"] not in _WORKLOADS)


def with_webhook_url(documents: Iterable[Json], url: str, authority: bytes) -> Documents:
    """Let webhook configurations call `url` (`https://127.0.0.1:8443`); `authority`: CA as PEM."""
    changed = copy.deepcopy(tuple(documents))
    trust = base64.b64encode(authority).decode()
    for document in changed:
        if document["kind"] in _CONFIGURATIONS:
            for webhook in document["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                webhook["clientConfig"] = {"url": f"{url}{path}", "caBundle": trust}
    return changed


def release(image: str | None = None) -> str:
    """All documents as one text; `image` replaces the image that the base names."""
    return _HEADER + to_yaml(_documents(image))


def _documents(image: str | None, namespace: str = contract.SYSTEM_NAMESPACE) -> Documents:
    values = DEFAULTS if image is None else Values(image=image)
    return installation.documents(values, namespace)


@click.command()
@click.option("--image", help="Run this image instead of the base's.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="The file for all documents, - for standard output; default: the files of the Helm chart.",
)
@click.option(
    "--namespace",
    default=contract.SYSTEM_NAMESPACE,
    show_default=True,
    help="The namespace of the installation.",
)
@click.option(
    "--webhook-url",
    help="The webhook runs outside the cluster and is called there, e.g. "
    "https://127.0.0.1:8443; workloads and Services are left out.",
)
@click.option(
    "--authority",
    type=click.File("rb"),
    help="The CA certificate of the webhook outside the cluster: ca.crt of its --cert-dir.",
)
def render(
    image: str | None,
    output: Path | None,
    namespace: str,
    webhook_url: str | None,
    authority: BinaryIO | None,
) -> None:
    """Write the files of the Helm chart, or everything that is installed as one YAML file."""
    if output is None:
        if image or webhook_url or authority or namespace != contract.SYSTEM_NAMESPACE:
            raise click.UsageError("--output is missing: - prints the documents.")
        chart_files.write()
        return
    documents = _documents(image, namespace)
    if webhook_url:
        trust = authority.read() if authority else b""
        documents = with_webhook_url(without_workloads(documents), webhook_url, trust)
    with click.open_file(str(output), "w") as stream:
        stream.write(_HEADER + to_yaml(documents))


if __name__ == "__main__":
    render(prog_name="python -m manifests.render")
