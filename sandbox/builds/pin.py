"""`python -m sandbox.builds.pin v1.37.2`: write go.mod and go.sum for a Kubernetes release.

k8s.io/kubernetes requires its staging modules at v0.0.0; each is replaced by its published
release. After the default release, run `python -m sandbox.builds.align`.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sandbox.releases import CONTROL_PLANES, PROGRAM

MODULE: Final = "k8s.io/kubernetes"
IMPORTED: Final = ("k8s.io/client-go", "k8s.io/component-base", "k8s.io/kubectl")
"""The staging modules that our program imports directly."""
_STAGING: Final = re.compile(r"^\s(k8s\.io/\S+) => \./staging/", re.MULTILINE)


def go_mod(release: str, upstream: str) -> str:
    """go.mod before `go mod tidy`, derived from the release's own."""
    staging = f"v0.{release.removeprefix('v1.')}"
    language = "\n".join(re.findall(r"^go \S+$", upstream, re.MULTILINE))
    required = (f"{MODULE} {release}", *(f"{name} {staging}" for name in IMPORTED))
    replaced = (f"{name} => {name} {staging}" for name in _STAGING.findall(upstream))
    return "\n\n".join(
        (
            "module kubectl-edl/sandbox/controlplane",
            language,
            _block("require", required),
            _block("replace", replaced),
        )
    )


def pin(release: str) -> Path:
    """Write and tidy the files; returns the folder."""
    folder = CONTROL_PLANES / ".".join(release.removeprefix("v").split(".")[:2])
    folder.mkdir(exist_ok=True)
    asked = ("go", "mod", "download", "-json", f"{MODULE}@{release}")
    said = subprocess.run(asked, check=True, stdout=subprocess.PIPE, cwd="/").stdout
    (folder / "go.mod").write_text(go_mod(release, Path(json.loads(said)["GoMod"]).read_text()))
    _tidy(folder)
    return folder


def _tidy(folder: Path) -> None:
    """Run `go mod tidy`, which needs the program in the folder: the shared one is lent."""
    lent = None if (folder / PROGRAM).exists() else folder / PROGRAM
    if lent:
        shutil.copy(CONTROL_PLANES / PROGRAM, lent)
    try:
        subprocess.run(("go", "mod", "tidy"), check=True, cwd=folder)
    finally:
        if lent:
            lent.unlink()


def _block(word: str, lines: Iterable[str]) -> str:
    return f"{word} (\n" + "".join(f"\t{line}\n" for line in lines) + ")\n"


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        sys.stdout.write(f"{pin(wanted)}\n")
