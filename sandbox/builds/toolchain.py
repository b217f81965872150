"""Checks that a Go command exists and is new enough."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sandbox.errors import BuildError

WAY_OUT = "install it from go.dev/dl, or name a folder with the binaries in EDL_BINARIES"


def go(environ: Mapping[str, str], module: Path) -> str:
    """The path of a Go that can build the module. Raises BuildError if there is none.

    With GOTOOLCHAIN=auto, Go fetches newer releases of itself, so it is never too old.
    """
    needed = required(module)
    found = shutil.which("go", path=environ.get("PATH"))
    if found is None:
        raise BuildError(
            f"Go {needed} or newer is needed to build Kubernetes and is not on PATH: {WAY_OUT}"
        )
    asked = subprocess.run(
        [found, "env", "GOVERSION"],
        cwd=module,
        env=environment(environ),
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode:
        said = " ".join(asked.stderr.split())
        raise BuildError(f"Go {needed} or newer is needed to build Kubernetes ({said}): {WAY_OUT}")
    return found


def required(module: Path) -> str:
    """The lowest Go version that go.mod allows."""
    found = re.search(r"^go (\S+)", (module / "go.mod").read_text(), re.MULTILINE)
    return found[1] if found else "1.26"


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, without variables that would change the result.

    CGO_ENABLED=0 makes static binaries and needs no C compiler. GOWORK=off ignores a workspace
    around this project. GOGC=400, unless the user set it: a compiler ends before its garbage fills
    the memory, and collecting it would take a sixth of the processor time.
    """
    return {"GOGC": "400", **environ, "CGO_ENABLED": "0", "GOWORK": "off"}
