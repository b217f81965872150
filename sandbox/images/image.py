"""Which images there are, and what each is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sandbox.errors import SandboxError
from sandbox.places import HERE

if TYPE_CHECKING:
    from pathlib import Path

REPOSITORY: Final = HERE.parent
EXAMPLES: Final = REPOSITORY / "examples"


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


def _example(name: str) -> Image:
    return Image(name, f"docker.io/edl-examples/{name}:1", EXAMPLES / name)


IMAGES: Final = (
    # kubectl would take minutes to compile; the sandbox has it already.
    Image("kubectl-edl", "docker.io/library/kubectl-edl:0.1.0", REPOSITORY, ("kubectl",)),
    _example("tensorflow"),
    _example("pytorch"),
    _example("horovod"),
    _example("mxnet"),
    _example("paddle"),
)
NAMES: Final = tuple(image.name for image in IMAGES)


def find(name: str) -> Image:
    """The image of this name. Raises SandboxError."""
    for image in IMAGES:
        if image.name == name:
            return image
    raise SandboxError(f"no image {name!r}; one of {', '.join(NAMES)}")


def reference(name: str) -> str:
    """What a pod's `image` stands for, in full: docker.io/library/kubectl-edl:0.1.0."""
    return find(name).reference
