"""Images are built by a real builder, from Dockerfiles as anybody would write them."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox import images
from sandbox.builds.build import BuildEnvironment
from sandbox.errors import BuildError
from sandbox.paths import places
from tests.e2e.conftest import require_a_real_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edl.writes import Json

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox, pytest.mark.timeout(900)]

NAME = "edl-lesson"
REFERENCE = f"docker.io/edl-tests/{NAME}:1"
DOCKERFILE = """\
FROM debian:12-slim
RUN cat /proc/sys/kernel/random/uuid > /once
COPY train.py /app/
RUN {last}
"""
BUILD = """
import os, sys; from pathlib import Path; from sandbox import images
from sandbox.builds.build import BuildEnvironment; from sandbox.paths import places
image = images.Image(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
images.build(image, BuildEnvironment(places(os.environ).cache, os.environ), print)
"""


@pytest.fixture
def build_env() -> BuildEnvironment:
    require_a_real_node()
    return BuildEnvironment(places(os.environ).cache, os.environ, io.StringIO())


@pytest.fixture
def lesson(tmp_path: Path, build_env: BuildEnvironment) -> Iterator[Callable[[str], images.Image]]:
    """Writes a Dockerfile whose last step is this command; its archives go with the test."""

    def make(last: str) -> images.Image:
        folder = tmp_path / "lesson"
        folder.mkdir(exist_ok=True)
        (folder / "Dockerfile").write_text(DOCKERFILE.format(last=last))
        (folder / "train.py").write_text("print(1)")
        return images.Image(NAME, REFERENCE, folder)

    yield make
    for archive in archives(build_env):
        archive.unlink()


def archives(build_env: BuildEnvironment) -> list[Path]:
    return list((build_env.cache / "images").glob(f"{NAME}-*.tar"))


def build(image: images.Image, build_env: BuildEnvironment) -> Path:
    return images.build(image, build_env, lambda _: None)


def content(archive: tarfile.TarFile, member: str | tarfile.TarInfo) -> bytes:
    found = archive.extractfile(member)
    assert found is not None, f"{member} is not a regular file"
    return found.read()


def contents(archive: Path) -> dict[str, bytes]:
    """The regular files of all layers, the upper ones over the lower ones."""
    found: dict[str, bytes] = {}
    with tarfile.open(archive) as whole:
        (manifest,) = json.loads(content(whole, "manifest.json"))
        assert manifest["RepoTags"] == [REFERENCE]
        for layer in manifest["Layers"]:
            with tarfile.open(fileobj=whole.extractfile(layer)) as files:
                found |= {f.name: content(files, f) for f in files if f.isfile()}
    return found


def environment(archive: Path) -> list[str]:
    with tarfile.open(archive) as whole:
        (manifest,) = json.loads(content(whole, "manifest.json"))
        config: Json = json.loads(content(whole, manifest["Config"]))["config"]
        return list(config["Env"])


def processes_about(folder: Path) -> list[int]:
    """Those that name the folder in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and str(folder) in (entry / "cmdline").read_text():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_an_edit_is_a_new_image_that_builds_only_what_follows_it(
    lesson: Callable[[str], images.Image], build_env: BuildEnvironment
) -> None:
    image = lesson("true")
    first = build(image, build_env)
    before = contents(first)
    written = first.stat().st_ino
    assert build(image, build_env) == first
    assert first.stat().st_ino == written, "what is kept is not built again"
    (image.folder / "train.py").write_text("print(2)")
    second = build(image, build_env)
    after = contents(second)
    assert second != first
    assert (before["app/train.py"], after["app/train.py"]) == (b"print(1)", b"print(2)")
    assert before["once"] == after["once"], "the steps before the edit are kept"


def test_an_image_keeps_no_setting_of_the_build_machine(
    lesson: Callable[[str], images.Image], build_env: BuildEnvironment
) -> None:
    """pip and apt are told how to reach their indexes here; the image does not remember."""
    archive = build(
        lesson("cat /etc/pip.conf > /dev/null && apt-config dump > /dev/null"), build_env
    )
    found = contents(archive)
    assert [line.partition("=")[0] for line in environment(archive)] == ["PATH"]
    for mounted in ("etc/pip.conf", "etc/apt/apt.conf.d/99machine", "mnt/ca.pem"):
        assert found.get(mounted, b"") == b""
    assert not {"etc/resolv.conf", "etc/hostname"} & {path for path, text in found.items() if text}


def test_a_failing_step_is_shown_with_its_last_lines(
    lesson: Callable[[str], images.Image], build_env: BuildEnvironment
) -> None:
    with pytest.raises(BuildError) as caught:
        build(lesson("echo no room for lesson 7 && exit 3"), build_env)
    first, *rest = str(caught.value).splitlines()
    log = build_env.cache / "logs" / f"image-{NAME}.log"
    assert first == f"cannot build the image {NAME}; the last lines of {log}:"
    assert "no room for lesson 7" in rest
    assert archives(build_env) == []


def test_a_base_image_that_is_not_made_here_is_named(
    lesson: Callable[[str], images.Image], build_env: BuildEnvironment
) -> None:
    image = lesson("true")
    (image.folder / "Dockerfile").write_text("FROM registry.example.org/lesson:1\n")
    with pytest.raises(BuildError, match=r"registry\.example\.org/lesson:1.*not known"):
        build(image, build_env)


def layers(build_env: BuildEnvironment) -> int:
    return len(
        json.loads((build_env.cache / "images/storage/overlay-layers/layers.json").read_text())
    )


def test_from_an_empty_cache_and_back_to_what_images_are_now(
    lesson: Callable[[str], images.Image], build_env: BuildEnvironment, tmp_path: Path
) -> None:
    empty = BuildEnvironment(tmp_path / "cache", build_env.environ, io.StringIO())
    image = lesson("true")
    first = contents(build(image, empty))
    (image.folder / "train.py").write_text("print(2)")
    build(image, empty)
    before = layers(empty)
    images.prune([], empty, lambda _: None)
    assert layers(empty) < before
    (image.folder / "train.py").write_text("print(3)")
    assert contents(build(image, empty))["once"] == first["once"], "what is in use is kept"


def test_a_build_that_is_killed_leaves_no_archive_no_process_and_no_mount(
    lesson: Callable[[str], images.Image], build_env: BuildEnvironment
) -> None:
    image = lesson("echo it is late && sleep 86400")
    log = build_env.cache / "logs" / f"image-{NAME}.log"
    log.unlink(missing_ok=True)
    run = subprocess.Popen([sys.executable, "-c", BUILD, NAME, REFERENCE, str(image.folder)])
    while not (log.exists() and "\nit is late\n" in log.read_text()):
        assert run.poll() is None
        time.sleep(0.1)
    run.send_signal(signal.SIGKILL)
    run.wait()
    while processes_about(image.folder):
        time.sleep(0.1)
    assert archives(build_env) == []
    assert str(build_env.cache / "images") not in Path("/proc/self/mounts").read_text()
    assert contents(build(lesson("true"), build_env))["app/train.py"] == b"print(1)"
    assert not list((build_env.cache / "images").glob(f".{NAME}@*"))
