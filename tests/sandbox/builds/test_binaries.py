from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.builds.binaries import NEEDED, find, named
from sandbox.errors import BuildError
from sandbox.paths import Places, places


def fill(folder: Path, names: tuple[str, ...]) -> Path:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


def test_the_named_folder_comes_before_cache_and_build(tmp_path: Path) -> None:
    own = fill(tmp_path / "own", NEEDED)
    found = find(Places(tmp_path, tmp_path, own), {"PATH": ""}, lambda _: None)
    assert found == {name: own / name for name in NEEDED}


def test_a_named_folder_that_lacks_programs_is_said(tmp_path: Path) -> None:
    own = fill(tmp_path / "own", NEEDED[2:])
    with pytest.raises(BuildError, match=r"EDL_BINARIES=.*own lacks etcd, kube-apiserver: put"):
        named(own)


def test_a_named_folder_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="lacks etcd"):
        named(tmp_path / "none")


def test_places_follow_the_xdg_rules() -> None:
    found = places({"HOME": "/home/me"})
    assert found.cache == Path("/home/me/.cache/kubectl-edl")
    assert found.sandboxes == Path("/home/me/.local/state/kubectl-edl/sandboxes")
    xdg = places({"HOME": "/home/me", "XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "relative"})
    assert xdg.cache == Path("/c/kubectl-edl")
    assert xdg.sandboxes == found.sandboxes


def test_our_own_variables_win() -> None:
    found = places({"HOME": "/h", "EDL_CACHE": "/c", "EDL_STATE": "/s", "EDL_BINARIES": "/b"})
    assert found == Places(Path("/c"), Path("/s/sandboxes"), Path("/b"))
