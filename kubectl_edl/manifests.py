"""Manifests in files: several YAML documents, each printed again as it came unless it changed."""

import re
from collections.abc import Callable
from typing import Any, Final

import yaml

from edl.writes import Json
from kubectl_edl.refusals import Refused

_MARKER: Final = re.compile(r"^(?:---|\.\.\.)(?:[ \t].*)?(?:\n|\Z)", re.MULTILINE)
"""In YAML these start a line only between documents, never inside one."""


class _Readable(yaml.SafeDumper):
    """Scripts stay blocks of lines, and nothing becomes an alias."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 (PyYAML's signature)
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _text)


def dump(manifest: Json) -> str:
    """One YAML document, keys in their order."""
    text: str = yaml.dump(manifest, Dumper=_Readable, sort_keys=False, allow_unicode=True)
    return text


def rewrite(text: str, change: Callable[[Json], Json | None], source: str) -> str:
    """Every document of `text`, those for which `change` returns something replaced by it.

    Raises Refused when `text` is no YAML; `source` says where it came from.
    """
    return "---\n".join(
        _rewritten(part, change, source) for part in _MARKER.split(text) if _any(part)
    )


def _rewritten(part: str, change: Callable[[Json], Json | None], source: str) -> str:
    manifest = _loaded(part, source)
    changed = change(manifest) if isinstance(manifest, dict) else None
    if changed is None:
        return part if part.endswith("\n") else f"{part}\n"
    return dump(changed)


def _loaded(part: str, source: str) -> Any:  # noqa: ANN401 (YAML enters here)
    try:
        return yaml.safe_load(part)
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise Refused(f"{source} is not YAML: {problem}") from error


def _any(part: str) -> bool:
    """Whether there is more than comments and empty lines."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in part.splitlines())
