"""Kustomize components as functions: what a component adds, and its JSON patches, applied here.

Only what our own components use: `resources`, and JSON 6902 patches of a target's kind and name. A
test holds the result against `kubectl kustomize`.
"""

import copy
from collections.abc import Iterable, Sequence
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
        operations = yaml.safe_load((component / patch["path"]).read_text())
        found = tuple(_patched(each, patch["target"], operations) for each in found)
    return found


def _patched(document: Json, target: Json, operations: list[Json]) -> Json:
    if (document["kind"], document["metadata"]["name"]) != (target["kind"], target["name"]):
        return document
    changed: Json = jsonpatch.apply_patch(document, operations)
    return changed


def _kustomization(folder: Path) -> Json:
    found: Json = yaml.safe_load((folder / "kustomization.yaml").read_text())
    return found
