"""The inputs of an image build."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Image:
    """A folder with a Dockerfile, and the name by which pods refer to the image.

    reference: the full name, as on a node. programs: the sandbox's own programs, each of which
    replaces the Dockerfile's stage of the same name, with the program at the top level.
    """

    name: str
    reference: str
    folder: Path
    programs: tuple[str, ...] = ()
