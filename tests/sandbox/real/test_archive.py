from __future__ import annotations

import hashlib
import json
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from sandbox.real.archive import write_image

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def image(tmp_path: Path) -> tarfile.TarFile:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    write_image(tmp_path / "image.tar", "name:1", {"/bin/a": program}, ["/bin/a"])
    return tarfile.open(tmp_path / "image.tar")


def content(image: tarfile.TarFile, name: str) -> bytes:
    found = image.extractfile(name)
    assert found
    return found.read()


def read(image: tarfile.TarFile, name: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(content(image, name))


def test_an_image_has_its_name_and_what_it_starts(image: tarfile.TarFile) -> None:
    with image:
        (entry,) = read(image, "manifest.json")
        assert entry["RepoTags"] == ["name:1"]
        assert read(image, entry["Config"])["config"]["Entrypoint"] == ["/bin/a"]


def test_its_layer_is_the_one_that_its_configuration_names(image: tarfile.TarFile) -> None:
    with image:
        (entry,) = read(image, "manifest.json")
        digest = hashlib.sha256(content(image, entry["Layers"][0])).hexdigest()
        assert read(image, entry["Config"])["rootfs"]["diff_ids"] == [f"sha256:{digest}"]


def test_its_files_can_be_run(image: tarfile.TarFile, tmp_path: Path) -> None:
    with image:
        (entry,) = read(image, "manifest.json")
        image.extract(entry["Layers"][0], tmp_path, filter="data")
    with tarfile.open(tmp_path / entry["Layers"][0]) as layer:
        assert [(each.name, each.mode) for each in layer] == [("bin/a", 0o755)]
