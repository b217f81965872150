"""The images of our own pods and of the examples."""

from __future__ import annotations

import io
import os
import tomllib
from string import Template
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from dev import images
from dev.installation import IMAGE
from sandbox.builds.build import BuildEnvironment
from sandbox.errors import SandboxError
from sandbox.images import kept

if TYPE_CHECKING:
    from pathlib import Path


def test_references_are_in_full_as_a_node_knows_them() -> None:
    assert images.find("kubectl-edl").reference == f"docker.io/library/{IMAGE}"
    assert images.find("horovod").reference == "docker.io/edl-examples/horovod:1"
    assert all(image.reference.count("/") == 2 for image in images.IMAGES)


def test_our_image_carries_our_version() -> None:
    project = tomllib.loads((images.REPOSITORY / "pyproject.toml").read_text())["project"]
    assert images.find("kubectl-edl").reference.endswith(f"/{project['name']}:{project['version']}")


def test_every_dockerfile_builds_on_what_is_made_here() -> None:
    """A stage from elsewhere must be one that a program of the sandbox stands in for."""
    for image in images.IMAGES:
        stages = {*image.programs}
        defaults: dict[str, str] = {}
        """Of build arguments, which stand before the first stage."""
        for line in (image.folder / "Dockerfile").read_text().splitlines():
            words = line.split()
            if words[:1] == ["ARG"]:
                name, _, text = words[1].partition("=")
                defaults[name] = text
            if words[:1] == ["FROM"] and words[-1] not in image.programs:
                base = Template(words[1]).substitute(defaults)
                assert base in {"debian:12-slim", *stages}, image.folder
                stages.add(words[-1])


def test_an_unknown_image_is_said_with_those_that_there_are() -> None:
    with pytest.raises(SandboxError, match=r"no image 'caffe'; one of kubectl-edl, tensorflow"):
        images.find("caffe")


def test_our_image_is_not_kept_where_kubectl_was_never_built(tmp_path: Path) -> None:
    build_env = BuildEnvironment(tmp_path / "cache", {"PATH": os.defpath}, io.StringIO())
    assert kept(images.find("kubectl-edl"), build_env) is None


def run(cache: Path, *args: str) -> str:
    environ = {"EDL_CACHE": str(cache), "EDL_BINARIES": None, "EDL_SANDBOX": None}
    return CliRunner().invoke(images.main, args, env=environ).output


def test_the_list_says_what_pods_call_each_image(tmp_path: Path) -> None:
    header, first, *_ = run(tmp_path, "list").splitlines()
    assert header.split() == ["NAME", "REFERENCE", "BUILT"]
    assert first.split() == ["kubectl-edl", "docker.io/library/kubectl-edl:0.1.0", "no"]


def test_building_nothing_in_particular_is_a_question_back(tmp_path: Path) -> None:
    assert "name an image, or --all; there are kubectl-edl," in run(tmp_path, "build")
    assert "'caffe' is not one of" in run(tmp_path, "build", "caffe")
    assert list(tmp_path.iterdir()) == []


def test_the_examples_of_the_help_are_commands_that_exist(tmp_path: Path) -> None:
    assert "python -m dev.images build kubectl-edl" in run(tmp_path, "--help")
    assert "Usage: " in run(tmp_path, "build", "--help")
