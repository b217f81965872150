from __future__ import annotations

import io
import os
import tomllib
from typing import TYPE_CHECKING

import pytest

from sandbox import images
from sandbox.builds.build import BuildEnvironment
from sandbox.errors import BuildError
from sandbox.images import archives, base, builder, image_build

if TYPE_CHECKING:
    from pathlib import Path

LOG = """\
[1/2] STEP 1/2: FROM debian:12-slim
[1/2] STEP 2/2: RUN pip install numpy
Collecting numpy
"""


@pytest.fixture
def lesson(tmp_path: Path) -> images.Image:
    folder = tmp_path / "lesson"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM debian:12-slim\n")
    (folder / "train.py").write_text("print(1)")
    return images.Image("lesson", "docker.io/edl-tests/lesson:1", folder)


@pytest.fixture
def build_env(tmp_path: Path) -> BuildEnvironment:
    return BuildEnvironment(tmp_path / "cache", {"PATH": os.defpath}, io.StringIO())


def quiet(_line: str) -> None: ...


def test_the_key_changes_with_every_input(lesson: images.Image, tmp_path: Path) -> None:
    program = tmp_path / "kubectl"
    program.write_text("v1")
    seen = [archives.key(lesson, {"kubectl": program})]
    program.write_text("v2")
    seen.append(archives.key(lesson, {"kubectl": program}))
    seen.append(archives.key(lesson, {}))
    (lesson.folder / "train.py").write_text("print(2)")
    seen.append(archives.key(lesson, {}))
    renamed = images.Image(lesson.name, "docker.io/edl-tests/lesson:2", lesson.folder)
    seen.append(archives.key(renamed, {}))
    assert len(set(seen)) == len(seen)
    assert archives.key(renamed, {}) == seen[-1]


def test_what_is_kept_needs_no_builder(lesson: images.Image, build_env: BuildEnvironment) -> None:
    assert images.kept(lesson, build_env) is None
    archive = build_env.cache / "images" / f"lesson-{archives.key(lesson, {})}.tar"
    archive.parent.mkdir(parents=True)
    archive.write_text("whole")
    nowhere = BuildEnvironment(build_env.cache, {"PATH": ""}, build_env.stream)
    assert images.kept(lesson, nowhere) == archive
    assert images.build(lesson, nowhere, quiet) == archive


def test_an_example_without_a_recipe_is_said(
    lesson: images.Image, build_env: BuildEnvironment
) -> None:
    (lesson.folder / "Dockerfile").unlink()
    with pytest.raises(BuildError, match=r"lesson has no Dockerfile"):
        images.build(lesson, build_env, quiet)


@pytest.mark.skipif(os.geteuid() == 0, reason="says what others than root are told")
def test_without_root_the_remedy_is_named(lesson: images.Image) -> None:
    with pytest.raises(BuildError, match=r"docker build -t docker.io/edl-tests.*as root.*sudo"):
        image_build.require(lesson)


def test_the_base_image_follows_what_decides_it() -> None:
    assert base.key() == base.key()
    assert base.REFERENCE.endswith(f"/{'debian:12-slim'}")
    assert base.RELEASE == "bookworm"


def test_storage_lies_where_we_say_also_with_odd_names(tmp_path: Path) -> None:
    odd = tmp_path / 'a "b"'
    said = tomllib.loads(builder.storage_conf(odd, tmp_path / "run"))["storage"]
    assert said == {"driver": "overlay", "graphroot": str(odd), "runroot": str(tmp_path / "run")}


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "starting"),
        ("I: extracting archives...\n", "extracting archives..."),
        ("STEP 1/3: FROM debian:12-slim\n", "step 1/3"),
        (LOG, "stage 1/2, step 2/2, Collecting numpy"),
    ],
)
def test_progress_says_the_step_and_the_last_line(log: str, said: str) -> None:
    assert builder.doing(log) == said
