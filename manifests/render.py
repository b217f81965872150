"""The base as documents: for the one release file, another image, a webhook outside the cluster."""

import base64
import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

import click
import yaml

from edl.writes import Json

Documents: TypeAlias = tuple[Json, ...]

BASE: Final = Path(__file__).parent / "base"
RELEASE: Final = Path(__file__).parent / "release.yaml"
IMAGE_VARIABLE: Final = "EDL_IMAGE"
"""The webhook tells launchers its own image, so this variable always says what `image` says."""

_WORKLOADS: Final = frozenset({"Deployment", "Service", "PodDisruptionBudget", "ResourceQuota"})
_CONFIGURATIONS: Final = frozenset(
    {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
)
_HEADER: Final = "# Written by `python -m manifests.render`; edit manifests/base instead.\n"


def load(directory: Path = BASE) -> Documents:
    """The documents of a kustomization's resources, in its order."""
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    texts = [(directory / name).read_text() for name in kustomization["resources"]]
    return tuple(document for text in texts for document in yaml.safe_load_all(text))


def with_image(documents: Iterable[Json], image: str) -> Documents:
    """Every container of ours runs `image`, and launchers take kubectl from it."""
    changed = copy.deepcopy(tuple(documents))
    for document in changed:
        if document["kind"] == "Deployment":
            for container in document["spec"]["template"]["spec"]["containers"]:
                container["image"] = image
                _set_variable(container, IMAGE_VARIABLE, image)
    return changed


def without_workloads(documents: Iterable[Json]) -> Documents:
    """Rights and webhook configurations alone, for processes that run outside the cluster."""
    return tuple(document for document in documents if document["kind"] not in _WORKLOADS)


def with_webhook_url(documents: Iterable[Json], url: str, authority: bytes) -> Documents:
    """The API server calls `url` (as `https://127.0.0.1:8443`) and trusts `authority` (PEM)."""
    changed = copy.deepcopy(tuple(documents))
    trust = base64.b64encode(authority).decode()
    for document in changed:
        if document["kind"] in _CONFIGURATIONS:
            for webhook in document["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                webhook["clientConfig"] = {"url": f"{url}{path}", "caBundle": trust}
    return changed


def to_yaml(documents: Iterable[Json]) -> str:
    """One file of all documents."""
    return yaml.safe_dump_all(documents, sort_keys=False, width=100)


def release(image: str | None = None) -> str:
    """The text of `release.yaml`; `image` replaces the one that the base names."""
    documents = load()
    return _HEADER + to_yaml(documents if image is None else with_image(documents, image))


def _set_variable(container: Json, name: str, value: str) -> None:
    for variable in container.get("env", ()):
        if variable["name"] == name:
            variable["value"] = value


@click.command()
@click.option("--image", help="Run this image instead of the base's.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default=RELEASE,
    help="The file to write, - for standard output; default: manifests/release.yaml.",
)
def render(image: str | None, output: Path) -> None:
    """Write everything that is installed as one YAML file, for `kubectl apply -f`."""
    with click.open_file(str(output), "w") as stream:
        stream.write(release(image))


if __name__ == "__main__":
    render(prog_name="python -m manifests.render")
