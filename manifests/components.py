"""Kustomize components as functions: what a component adds, and its JSON patches, applied here.

Only what our own components use: `resources`, and by a target's kind and name JSON 6902 patches and
`$patch: delete`. A test holds the result against `kubectl kustomize`.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import jsonpatch
import yaml

from edl.writes import Json
from manifests.documents import HERE, Documents, load

FOLDER: Final = HERE / "components"


def with_components(documents: Iterable[Json], names: Sequence[str]) -> Documents:
    """The documents with these components of `manifests/components`, in this order."""
    found = copy.deepcopy(tuple(documents))
    for name in names:
        found = _with(found, FOLDER / name)
    return found


def _with(documents: Documents, component: Path) -> Documents:
    found = (*documents, *load(component))
    for patch in _kustomization(component).get("patches", ()):
        change = yaml.safe_load((component / patch["path"]).read_text())
        found = tuple(_changed(found, patch["target"], change))
    return found


def _changed(documents: Documents, target: Json, change: list[Json] | Json) -> Iterator[Json]:
    for document in documents:
        if (document["kind"], document["metadata"]["name"]) != (target["kind"], target["name"]):
            yield document
        elif isinstance(change, list):
            yield jsonpatch.apply_patch(document, change)
        elif change.get("$patch") != "delete":
            raise ValueError(f"{target['kind']} {target['name']}: no patch that is applied here")


def _kustomization(folder: Path) -> Json:
    found: Json = yaml.safe_load((folder / "kustomization.yaml").read_text())
    return found
