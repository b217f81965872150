"""What an image is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Image:
    """A folder with a Dockerfile, and the name under which pods ask for what comes out of it.

    reference: in full, as a node knows it. programs: the sandbox's own that take the place of the
    Dockerfile's stage of the same name, where each lies at the top.
    """

    name: str
    reference: str
    folder: Path
    programs: tuple[str, ...] = ()
