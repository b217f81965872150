"""What the user chose for an installation: a file, `--set`, `--image`, and the choice of before."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

import click
import yaml

from edl import contract
from edl.errors import NotFound
from edl.kube.cluster import Cluster
from edl.merge import merged
from edl.model import Target
from edl.writes import Json
from manifests import installation, values
from manifests.documents import Documents

KEPT: Final = Target("ConfigMap", contract.SYSTEM_NAMESPACE, "edl-values")
"""What was chosen: an upgrade starts from it."""
_FILE: Final = "values.yaml"
_DOT: Final = re.compile(r"(?<!\\)\.")


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line's words."""

    image: str = ""
    settings: tuple[str, ...] = ()
    filename: str = ""


def chosen(asked: Asked, before: Json, stdin: TextIO) -> Json:
    """What differs from the defaults, by its names; the later wins. Raises click.UsageError."""
    found = merged(before, _read(asked.filename, stdin) if asked.filename else {})
    for setting in asked.settings:
        found = _set(found, setting)
    return merged(found, {"image": asked.image} if asked.image else {})


def documents(given: Json) -> Documents:
    """Everything that is installed, and what was chosen last. Raises ValuesError."""
    first, *rest = installation.documents(values.read(given))
    return (first, _kept(given), *rest)


def kept(cluster: Cluster) -> Json:
    """What was chosen before; nothing where kubectl-edl was installed in another way."""
    try:
        found = cluster.get(KEPT)
    except NotFound:
        return {}
    given: Json = yaml.safe_load(found["data"][_FILE]) or {}
    return given


def _kept(given: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": KEPT.kind,
        "metadata": {
            "name": KEPT.name,
            "namespace": KEPT.namespace,
            "labels": {"app.kubernetes.io/part-of": contract.MANAGED_BY},
        },
        "data": {_FILE: yaml.safe_dump(given)},
    }


def _read(filename: str, stdin: TextIO) -> Json:
    try:
        text = stdin.read() if filename == "-" else Path(filename).read_text()
        found = yaml.safe_load(text) or {}
    except (OSError, yaml.YAMLError) as error:
        raise click.UsageError(f"--values {filename}: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise click.UsageError(f"--values {filename}: no map of values")
    return _named(found)


def _named(found: Json) -> Json:
    """Names are text, also those that YAML takes for numbers (priorities)."""
    return {
        str(name): _named(value) if isinstance(value, dict) else value
        for name, value in found.items()
    }


def _set(found: Json, setting: str) -> Json:
    path, equals, text = setting.partition("=")
    if not (path and equals):
        raise click.UsageError(f'--set "{setting}": write NAME=VALUE, or NAME= for its default.')
    try:
        value = yaml.safe_load(text) if text else None
    except yaml.YAMLError:
        raise click.UsageError(f'--set "{setting}": the value is no YAML.') from None
    names: Sequence[str] = [name.replace("\\.", ".") for name in _DOT.split(path)]
    return _put(found, names, _named(value) if isinstance(value, dict) else value)


def _put(found: Json, names: Sequence[str], value: object) -> Json:
    """With the value at the path; None takes it away, so that its default is back."""
    name, *rest = names
    if not rest:
        return {key: each for key, each in found.items() if key != name} | (
            {} if value is None else {name: value}
        )
    inner = found.get(name)
    return found | {name: _put(inner if isinstance(inner, dict) else {}, rest, value)}
