"""The folders of the sandbox's files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
STAGES = HERE / "stages"
CHECKOUT = HERE.parent
"""The folder from which sandboxes are started."""
PROJECT = "kubectl-edl"


@dataclass(frozen=True, slots=True)
class Places:
    """cache: built binaries. sandboxes: one folder each. binaries: the user's own, if any."""

    cache: Path
    sandboxes: Path
    binaries: Path | None = None


def places(environ: Mapping[str, str]) -> Places:
    """The folders named by EDL_CACHE, EDL_STATE and EDL_BINARIES, or else by the XDG rules."""
    home = Path(environ.get("HOME") or Path.home())
    cache = _xdg(environ, "XDG_CACHE_HOME", home / ".cache")
    state = _xdg(environ, "XDG_STATE_HOME", home / ".local" / "state")
    named = environ.get("EDL_BINARIES")
    return Places(
        cache=_absolute(environ.get("EDL_CACHE") or cache / PROJECT),
        sandboxes=_absolute(environ.get("EDL_STATE") or state / PROJECT) / "sandboxes",
        binaries=_absolute(named) if named else None,
    )


def _xdg(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    named = Path(environ.get(variable, ""))
    # By the XDG rules, relative paths are invalid and ignored.
    return named if named.is_absolute() else default


def _absolute(path: str | Path) -> Path:
    return Path(path).expanduser().absolute()
