"""Where no container engine is, that is said before anything is built."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.builds.recipe import HELM, KIND, version
from sandbox.errors import SandboxError
from sandbox.on_kind import ENGINES, engine

Made = Callable[..., dict[str, str]]


@pytest.fixture
def engines(tmp_path: Path) -> Made:
    """An environment whose PATH has these engines, each a shell line."""

    def make(**lines: str) -> dict[str, str]:
        for name, line in lines.items():
            path = tmp_path / name
            path.write_text(f"#!/bin/sh\n{line}\n")
            path.chmod(0o755)
        return {"PATH": str(tmp_path)}

    return make


def test_without_an_engine_all_that_would_do_are_named(engines: Made) -> None:
    with pytest.raises(SandboxError) as caught:
        engine(engines())
    assert str(caught.value) == (
        "kind needs a container engine, and none is on PATH (docker, podman, nerdctl): install "
        "one, or name a cluster of yours: EDL_KUBECONFIG=… make integration"
    )


def test_an_engine_that_does_not_answer_is_quoted(engines: Made) -> None:
    with pytest.raises(SandboxError, match=r"docker: Cannot connect to the daemon\): start it"):
        engine(engines(docker='echo "Cannot connect to the daemon" >&2; exit 1'))


def test_the_first_that_answers_is_taken(engines: Made) -> None:
    assert engine(engines(docker="exit 1", podman="echo host")) == "podman"
    assert set(ENGINES) >= {"docker", "podman"}


def test_the_command_says_what_is_missing_and_runs_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.on_kind", "touch", str(tmp_path / "ran")],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: kind needs a container engine")
    assert not (tmp_path / "ran").exists()


def test_the_versions_are_pinned() -> None:
    assert version(KIND).startswith("v0.")
    assert version(HELM).startswith("v4.")
