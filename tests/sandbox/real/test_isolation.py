from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.real import cgroups
from sandbox.real.isolation import PRIVATE, hides, release


@pytest.mark.parametrize("folder", PRIVATE)
def test_a_path_that_the_node_would_not_find_is_known(folder: str) -> None:
    assert hides(Path(folder, "user", "state")) == folder


def test_other_paths_are_the_machines_own(tmp_path: Path) -> None:
    assert hides(tmp_path) == ""
    assert hides(Path("/runner/home")) == ""


def test_without_a_link_none_is_removed() -> None:
    assert not release("edl-nobody-00000000")


def test_folders_of_the_same_name_have_cgroups_of_their_own(tmp_path: Path) -> None:
    one, other = (
        cgroups.name_for(tmp_path / "a" / "demo"),
        cgroups.name_for(tmp_path / "b" / "demo"),
    )
    assert one.startswith("edl-demo-")
    assert other.startswith("edl-demo-")
    assert one != other
