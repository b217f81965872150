"""The values of an installation: from files, `--set`, `--image`, and the previous installation."""

import re
from collections.abc import Sequence
from typing import Final, TextIO

import click
import yaml

from edl import contract
from edl.errors import NotFound
from edl.kube.cluster import Cluster
from edl.kube.option_group import option, option_group
from edl.model import ObjectRef
from edl.patches.merge_patch import merged
from edl.writes import Json
from kubectl_edl.cli.param_types import Image
from kubectl_edl.resources.bounded_loader import BoundedLoader, TooManyValues
from kubectl_edl.resources.manifest_sources import TOO_DEEP, ManifestSource, Unreadable, sources
from manifests import installation, values
from manifests.documents import Documents

VALUES_CONFIG_MAP: Final = "edl-values"
"""The ConfigMap of the chosen values, from which an upgrade starts."""
_FILE: Final = "values.yaml"
_DOT: Final = re.compile(r"(?<!\\)\.")


class _ValuesLoader(BoundedLoader):
    """Values are few: each is merged, validated and stored, with its aliases expanded."""

    most_values = 10_000
    most_characters = 2**20


@option_group
class InstallationChoice:
    image: str = option(type=Image(), help="Image of kubectl-edl that the cluster can pull.")
    settings: tuple[str, ...] = option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a chart value: reconciler.planning.policy=throughput; may be repeated.",
    )
    filenames: tuple[str, ...] = option(
        "-f",
        "--values",
        type=click.Path(dir_okay=False, allow_dash=True),
        help="File with chart values, or - for stdin; may be repeated, the last one wins.",
    )


def chosen(asked: InstallationChoice, before: Json, stdin: TextIO) -> Json:
    """The values that differ from the defaults; later ones win, as with Helm.

    Raises Refused and Unreadable for files, click.UsageError for other errors.
    """
    result = before
    for source in sources(asked.filenames, stdin):
        result = merged(result, _read(source))
    for setting in asked.settings:
        result = _set(result, setting)
    return merged(result, {"image": asked.image} if asked.image else {})


def documents(given: Json, namespace: str) -> Documents:
    """All objects of the installation, and the ConfigMap of its values. Raises ValuesError."""
    objects = installation.documents(values.read(given), namespace)
    ours = 1 if objects[0]["kind"] == installation.NAMESPACE else 0
    return (*objects[:ours], _config_map(given, namespace), *objects[ours:])


def previous(cluster: Cluster) -> Json | None:
    """The values of the previous installation; None if it was installed in another way.

    Raises Unreadable if another client changed the ConfigMap to something malformed.
    """
    try:
        manifest = cluster.get(ObjectRef("ConfigMap", cluster.system_namespace, VALUES_CONFIG_MAP))
    except NotFound:
        return None
    text = str((manifest.get("data") or {}).get(_FILE) or "")
    return _read(ManifestSource(f"ConfigMap {cluster.system_namespace}/{VALUES_CONFIG_MAP}", text))


def _config_map(given: Json, namespace: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": VALUES_CONFIG_MAP,
            "namespace": namespace,
            "labels": {
                "app.kubernetes.io/part-of": contract.MANAGED_BY,
                contract.INSTALLED: "true",
            },
        },
        "data": {_FILE: yaml.safe_dump(given)},
    }


def _read(source: ManifestSource) -> Json:
    try:
        content = yaml.load(source.text, _ValuesLoader)  # noqa: S506 - a SafeLoader
        if content is not None and not isinstance(content, dict):
            raise Unreadable(f"{source.name}: no map of values")
        return _named(content or {})
    except RecursionError as error:
        raise Unreadable(f"{source.name}: {TOO_DEEP}") from error
    except TooManyValues as error:
        raise Unreadable(f"{source.name}: {error}") from error
    except (yaml.YAMLError, ValueError) as error:
        problem = " ".join(str(error).split())
        raise Unreadable(f"{source.name}: not YAML: {problem}") from error


def _named(given: Json) -> Json:
    """Values with all names as text; YAML reads some, such as priorities, as numbers."""
    return {
        str(name): _named(value) if isinstance(value, dict) else value
        for name, value in given.items()
    }


def _set(given: Json, setting: str) -> Json:
    path, equals, text = setting.partition("=")
    if not (path and equals):
        raise click.UsageError(f'--set "{setting}": write NAME=VALUE, or NAME= for its default.')
    try:
        value = yaml.load(text, _ValuesLoader) if text else None  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError):
        raise click.UsageError(f'--set "{setting}": the value is not YAML.') from None
    names: Sequence[str] = [name.replace("\\.", ".") for name in _DOT.split(path)]
    if (unknown := values.unknown(names)) and (text or not _has(given, names)):
        raise click.UsageError(f'--set "{setting}": there is no such value; {unknown}.')
    return _put(given, names, _named(value) if isinstance(value, dict) else value)


def _has(given: Json, names: Sequence[str]) -> bool:
    """Whether there is a value at the path, such as a stored one of another version."""
    inner: object = given
    for name in names:
        inner = inner.get(name) if isinstance(inner, dict) else None
    return inner is not None


def _put(given: Json, names: Sequence[str], value: object) -> Json:
    """Set the value at the path; None removes it, and maps that get empty: the default again."""
    name, *rest = names
    if not rest:
        return {key: each for key, each in given.items() if key != name} | (
            {} if value is None else {name: value}
        )
    inner = given.get(name)
    changed = _put(inner if isinstance(inner, dict) else {}, rest, value)
    return given | {name: changed} if changed else _put(given, [name], None)
