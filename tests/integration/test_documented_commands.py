"""Pages with steps, their shell commands as they stand there, from top to bottom."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import DOCS, ROOT, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

WITHIN = 300.0
ELSEWHERE = {"wait-in-scripts.md"}
"""Has a test of its own: its commands wait for what others do."""
PAGES = [
    DOCS / "quickstart.md",
    DOCS / "tutorials" / "none.md",
    *(page for page in sorted((DOCS / "tasks").glob("*.md")) if page.name not in ELSEWHERE),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like a clone of the repository, as far as pages use it."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.fixture
def environ(installed: Stage, folder: Path) -> Iterator[dict[str, str]]:
    """A user's shell: a context with the test's namespace, kubectl and the plugin on PATH.

    Afterwards what a page that failed has left of its teams, which all tests share, is deleted.
    """
    kubeconfig = folder / "kubeconfig"
    shutil.copy(installed.cluster.kubeconfig, kubeconfig)
    kubectl = Path(installed.cluster.kubectl_path)
    programs = (str(Path(sys.executable).parent), str(kubectl.parent), os.environ["PATH"])
    found = installed.cluster.kubectl_environment()
    found |= {"KUBECONFIG": str(kubeconfig), "PATH": os.pathsep.join(programs)}
    found.pop("EDL_KUBECONFIG", None)
    subprocess.run(
        [kubectl, "config", "set-context", "--current", f"--namespace={installed.namespace}"],
        env=found, check=True, capture_output=True,
    )  # fmt: skip
    yield found
    for left in (("namespace", "vision", "speech"), ("configmap", "edl-teams", "-n", "edl-system")):
        subprocess.run([kubectl, "delete", "--ignore-not-found", *left], env=found, check=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_succeed_in_their_order(
    page: Path, folder: Path, environ: dict[str, str]
) -> None:
    script = "\n".join(["set -euxo pipefail", *blocks(page, skipped=False)])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=WITHIN, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}"
