from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest

from sandbox.builds.build import BuildEnvironment
from sandbox.builds.debian import environment, fetched
from sandbox.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable

    WithApt = Callable[..., dict[str, str]]

FAKE_APT = """#!/bin/sh
for word; do
  case $word in
    -oDir::Cache::archives=*) archives=${{word#*=}} ;;
    update|install) verb=$word ;;
  esac
done
{lines}
[ $verb = update ] || touch $archives/tool_1.deb $archives/lib_2.deb
"""
FAKE_DPKG = """#!/bin/sh
name=${2##*/}
mkdir -p $3/usr/bin $3/usr/lib/cpu/deep
touch $3/usr/bin/${name%%_*} $3/usr/lib/cpu/deep/libx.so.1
"""


def quiet(_line: str) -> None: ...


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def with_apt(tmp_path: Path) -> WithApt:
    """An environment whose `apt-get` runs these shell lines before it downloads two packages."""

    def make(lines: str = "") -> dict[str, str]:
        folder = Path(mkdtemp(dir=tmp_path))  # an earlier apt-get may be starting still
        for name, text in {"apt-get": FAKE_APT.format(lines=lines), "dpkg-deb": FAKE_DPKG}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        return {"PATH": f"{folder}:{os.defpath}"}

    return make


def fetch(cache: Path, environ: dict[str, str], *packages: str) -> Path:
    return fetched(
        "tools", packages or ("tool",), BuildEnvironment(cache, environ, io.StringIO()), quiet
    )


def test_packages_and_what_they_need_are_unpacked_and_kept(cache: Path, with_apt: WithApt) -> None:
    folder = fetch(cache, with_apt())
    assert sorted(path.name for path in (folder / "usr/bin").iterdir()) == ["lib", "tool"]
    assert folder.parent == cache / "debian"
    assert list(folder.parent.iterdir()) == [folder]


def test_what_is_kept_needs_no_apt(cache: Path, with_apt: WithApt) -> None:
    assert fetch(cache, with_apt()) == fetch(cache, {"PATH": ""})


def test_other_packages_have_another_folder(cache: Path, with_apt: WithApt) -> None:
    assert fetch(cache, with_apt(), "a") != fetch(cache, with_apt(), "a", "b")


def test_a_failed_download_leaves_nothing_and_says_what_apt_said(
    cache: Path, with_apt: WithApt
) -> None:
    environ = with_apt("[ $verb = update ] || { echo 'E: Unable to locate tool' >&2; exit 100; }")
    with pytest.raises(BuildError, match=r"cannot fetch tool; .*fetch-tools-.*\nE: Unable to"):
        fetch(cache, environ)
    assert list((cache / "debian").iterdir()) == []


def test_without_apt_it_says_where_the_packages_come_from(cache: Path) -> None:
    said = "apt-get and dpkg-deb not found: runc, nftables come from the packages of Debian or Ub"
    with pytest.raises(BuildError, match=said):
        fetch(cache, {"PATH": ""}, "runc", "nftables")


def test_two_at_once_fetch_once(cache: Path, with_apt: WithApt) -> None:
    counted = cache.parent / "count"
    environ = with_apt(f"echo $verb >> {counted}; sleep 0.2")
    both = [threading.Thread(target=fetch, args=(cache, environ)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert counted.read_text() == "update\ninstall\n"


def test_a_killed_fetch_leaves_no_half_folder(cache: Path, with_apt: WithApt) -> None:
    environ = with_apt("sleep 5")
    script = (
        "import io, sys; from pathlib import Path\n"
        "from sandbox.builds.build import BuildEnvironment\n"
        "from sandbox.builds.debian import fetched\n"
        f"fetched('tools', ('tool',), BuildEnvironment(Path(sys.argv[1]), {environ!r}), print)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script, str(cache)])
    while not list(cache.glob("debian/.tools-*/archives")):
        assert run.poll() is None
        time.sleep(0.01)
    run.kill()
    run.wait()
    folder = fetch(cache, with_apt())
    assert list(folder.parent.iterdir()) == [folder]


def test_its_programs_and_libraries_come_first(cache: Path, with_apt: WithApt) -> None:
    folder = fetch(cache, with_apt())
    found = environment(folder)
    assert found["PATH"].split(":")[0] == str(folder / "usr/local/sbin")
    assert found["PATH"].endswith(os.defpath)
    assert found["LD_LIBRARY_PATH"] == str(folder / "usr/lib/cpu/deep")
