"""A Go module whose build takes no time, and a `go` that plays the compiler."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sandbox.builds.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GO_MOD = "module example.org/build\n\ngo 1.26.0\n\nrequire example.org/tool v1.2.3\n"
FAKE_GO = """#!/bin/sh
if [ "$1" = env ]; then {env}; fi
while [ "$1" != -o ]; do shift; done
{build}
"""
WRITES_TOOL = """echo example.org/tool
printf '#!/bin/sh\\necho tool v1.2.3\\n' > "$2"tool; chmod +x "$2"tool """


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "go.mod").write_text(GO_MOD)
    (folder / "go.sum").write_text("")
    return Recipe("tool", folder, (".",), ("tool",), "example.org/tool", links=("alias",))


@pytest.fixture
def with_go(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """An environment whose `go` runs these shell lines."""

    def make(build: str = WRITES_TOOL, env: str = "echo go1.26.0; exit") -> dict[str, str]:
        folder = tmp_path / "path"
        folder.mkdir(exist_ok=True)
        go = folder / "go"
        go.write_text(FAKE_GO.format(build=build, env=env))
        go.chmod(0o755)
        return {"PATH": f"{folder}:{os.defpath}", "HOME": str(tmp_path)}

    return make
