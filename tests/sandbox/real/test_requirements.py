from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from sandbox.real.cgroups import lacking
from sandbox.real.requirements import PROGRAMS, missing

if TYPE_CHECKING:
    from pathlib import Path

ROOT = 0
FIRST = ("cpu,cpuacct", "cpuset", "devices", "memory", "pids")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder in which each program that is needed says what the kernel would forbid."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in (*PROGRAMS, "sh"):
        (folder / name).write_text("#!/bin/sh\necho Operation not permitted >&2; exit 1\n")
        (folder / name).chmod(0o755)
    return folder


def first(folder: Path, *names: str) -> Path:
    """The mounts of a machine with version 1 of cgroups."""
    for name in names:
        (folder / name).mkdir()
    mounts = folder / "mounts"
    rows = [f"cgroup {folder / name} cgroup rw,{name} 0 0\n" for name in names]
    mounts.write_text("".join(["proc /proc proc rw 0 0\n", *rows]))
    return mounts


def second(folder: Path, **files: str) -> Path:
    """The mounts of a machine with version 2, and the files of its root."""
    root = folder / "unified"
    root.mkdir()
    for name, text in files.items():
        (root / f"cgroup.{name}").write_text(text)
    mounts = folder / "mounts"
    mounts.write_text(f"cgroup2 {root} cgroup2 rw 0 0\n")
    return mounts


def test_without_root_the_error_says_so() -> None:
    assert missing({}, user=1000).startswith("a real node needs root: ")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_is_missing_is_named_with_its_package(programs: Path, program: str) -> None:
    (programs / program).unlink()
    said = missing({"PATH": str(programs)}, ROOT)
    assert said == f"a real node needs {program} (apt-get install {PROGRAMS[program]})"


def test_what_the_kernel_forbids_is_said_in_its_words(programs: Path) -> None:
    if lacking():
        pytest.skip(lacking())
    said = missing({"PATH": str(programs)}, ROOT)
    assert said.startswith("a real node needs network and mount namespaces, veth and overlay")
    assert said.endswith("but: Operation not permitted")


def test_both_versions_of_cgroups_will_do(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    assert lacking(first(tmp_path / "1", *FIRST)) == ""
    given = {"controllers": "cpu cpuset io memory pids\n", "subtree_control": ""}
    assert lacking(second(tmp_path, **given)) == ""


def test_controllers_that_are_missing_are_named(tmp_path: Path) -> None:
    said = lacking(first(tmp_path, *FIRST[:3]))
    assert said == "the controllers memory, pids are missing"


def test_controllers_that_a_containers_processes_hold_are_named(tmp_path: Path) -> None:
    given = {"controllers": "cpu cpuset memory pids\n", "subtree_control": "cpuset memory\n"}
    mounts = second(tmp_path, **given, type="domain\n", procs="1\n")
    root = tmp_path / "unified"
    said = f"the controllers cpu, pids are missing, or held by processes in {root} itself"
    assert lacking(mounts) == said
    (root / "cgroup.procs").write_text("")
    assert lacking(mounts) == ""


def test_cgroups_that_are_not_there_are_said(tmp_path: Path) -> None:
    assert lacking(first(tmp_path)) == "they are not mounted"
    mounts = second(tmp_path)
    shutil.rmtree(tmp_path / "unified")
    assert lacking(mounts) == f"{tmp_path / 'unified'} cannot be written"
