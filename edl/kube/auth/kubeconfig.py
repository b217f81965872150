"""Merges kubectl's configuration files, and selects one context."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import yaml

from edl.errors import Unreachable
from edl.parsing.strict_yaml import LOADER, not_yaml

KubeconfigSection: TypeAlias = Mapping[str, Any]
"""One cluster or user, with the file's keys; paths in it are absolute."""

_PATHS: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_TEXTS: Final = (
    *_PATHS,
    *(f"{name}-data" for name in _PATHS[:3]),
    *("server", "tls-server-name", "proxy-url", "token", "username", "password", "namespace"),
)
_DEEPEST: Final = 100
_LISTS: Final = {"clusters": "cluster", "contexts": "context", "users": "user"}
_ADVICE: Final = "choose a cluster with --kubeconfig, --context or KUBECONFIG"


class SelectedContext(msgspec.Struct, frozen=True):
    """A context with its cluster and user."""

    path: str
    """As given: several files are separated as in PATH."""
    context: str
    namespace: str
    cluster: KubeconfigSection
    user: KubeconfigSection


class ConfigOverrides(msgspec.Struct, frozen=True):
    """Command-line settings that override the files, as kubectl's global flags; empty if absent.

    `impersonation` has the keys of a kubeconfig's user: `as`, `as-groups`, `as-uid`.
    `system_namespace` is the namespace in which kubectl-edl is installed. `flags` are the options
    as given (` --as ann`), to append to a suggested kubectl command.
    """

    context: str = ""
    cluster: str = ""
    user: str = ""
    impersonation: KubeconfigSection = msgspec.field(default_factory=dict)
    system_namespace: str = ""
    flags: str = ""


def chosen_files(kubeconfig: str | None, environ: Mapping[str, str]) -> list[str]:
    """The option is one path, as for kubectl; the variable is a list, separated as in PATH."""
    listed = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [kubeconfig] if kubeconfig else listed or ["~/.kube/config"]


def existing(files: Iterable[str]) -> list[Path]:
    return [path for file in files if (path := Path(file).expanduser()).exists()]


def choose(files: Sequence[str], overrides: ConfigOverrides | None = None) -> SelectedContext:
    """The chosen context.

    Raises Unreachable, with advice, if it, its cluster or its user is missing.
    """
    overrides = overrides or ConfigOverrides()
    path = os.pathsep.join(files)
    documents = [_read(file) for file in existing(files)]
    if not documents:
        raise Unreachable(f"no cluster: there is no file {path}; {_ADVICE}")
    currents = (document.get("current-context") for document in documents)
    name = overrides.context or next((current for current in currents if current), "")
    if not name and not overrides.cluster:
        raise Unreachable(f"no cluster: {path} has no current-context; {_ADVICE}")
    chosen = _named(documents, "contexts", "context", name, path) if name else {}
    cluster = overrides.cluster or chosen.get("cluster", "")
    user = overrides.user or chosen.get("user")
    section = _named(documents, "users", "user", user, path) if user else {}
    return SelectedContext(
        path=path,
        context=name,
        namespace=chosen.get("namespace") or "default",
        cluster=_named(documents, "clusters", "cluster", cluster, path),
        user={**section, **overrides.impersonation},
    )


def _read(file: Path) -> KubeconfigSection:
    try:
        document = _parsed(file.read_bytes())
    except yaml.YAMLError as error:
        raise Unreachable(f"no cluster: {file}: {not_yaml(error)}; {_ADVICE}") from error
    except (OSError, ValueError) as error:
        raise Unreachable(f"no cluster: {file} cannot be read: {error}; {_ADVICE}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise Unreachable(f"no cluster: {file} is not a kubeconfig; {_ADVICE}")
    return {
        key: _absolute(_sections(value, key, file), key, file) if key in _LISTS else value
        for key, value in document.items()
    }


def _parsed(text: bytes) -> object:
    """Raises ValueError for a deep document, whose construction would exceed the C stack."""
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"it is nested deeper than {_DEEPEST} levels")
    return yaml.load(text, LOADER)  # noqa: S506 - a safe loader, in C


def _absolute(
    entries: Sequence[KubeconfigSection], key: str, file: Path
) -> list[KubeconfigSection]:
    """The entries with absolute paths: in a file, paths are relative to its folder."""
    part = _LISTS[key]
    return [
        {**entry, part: _resolved(_typed(_section(entry.get(part), part, file), file), file.parent)}
        for entry in entries
    ]


def _typed(section: KubeconfigSection, file: Path) -> KubeconfigSection:
    for key in _TEXTS:
        if not isinstance(section.get(key) or "", str):
            raise _misshapen(file, f"{key} is not a string")
    return section


def _resolved(section: KubeconfigSection, folder: Path) -> KubeconfigSection:
    folder = folder.absolute()
    paths: dict[str, Any] = {key: str(folder / section[key]) for key in _PATHS if section.get(key)}
    plugin = section.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command")):
        # A command without a separator is looked up on PATH.
        paths["exec"] = {**plugin, "command": str(folder / str(plugin["command"]))}
    return {**section, **paths}


def _sections(value: object, key: str, file: Path) -> list[KubeconfigSection]:
    if value is not None and not isinstance(value, list):
        raise _misshapen(file, f"{key} is not a list")
    return [_section(entry, key, file) for entry in value or ()]


def _section(value: object, key: str, file: Path) -> KubeconfigSection:
    if value is not None and not isinstance(value, dict):
        # The value is not shown: it may be a misplaced token.
        raise _misshapen(file, f"{key} has a {type(value).__name__} for a map of fields")
    return value or {}


def _misshapen(file: Path, why: str) -> Unreachable:
    return Unreachable(f"no cluster: {file} is not a kubeconfig: {why}; {_ADVICE}")


def _named(
    documents: Sequence[KubeconfigSection], plural: str, singular: str, name: str, path: str
) -> KubeconfigSection:
    """The named entry; the first file that contains the name wins."""
    entries = [entry for document in documents for entry in document.get(plural) or ()]
    for entry in entries:
        if entry.get("name") == name:
            section: KubeconfigSection = entry.get(singular) or {}
            return section
    names = ", ".join(sorted({str(entry.get("name")) for entry in entries})) or "none"
    raise Unreachable(f'no cluster: {path} has no {singular} "{name}" (known: {names}); {_ADVICE}')
