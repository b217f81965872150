"""The archives that krew downloads: for each platform the plugin with all its packages.

krew unpacks a folder, and Python runs the plugin there. A zipped application would first unpack
itself into the user's cache: with shiv 1.0 and pex 2.x that took 13 s, and 150 MB more. The
archives hold extension modules for every supported version of Python: their file names differ.
"""

import gzip
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import yaml
from msgspec import Struct

from edl.parsing.yaml_edits import edited
from edl.writes import Json
from manifests.documents import HERE

KREW: Final = HERE / "krew"
ROOT: Final = HERE.parent
LOCK: Final = ROOT / "requirements.lock"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
_SERVERS: Final = frozenset({"uvicorn", "uvloop", "httptools"})
"""Packages that only the webhook needs."""
_RECORDS: Final = ("*.dist-info/RECORD", "*.dist-info/direct_url.json")
"""pip's notes about an installation, with paths of the machine that builds the archive."""
_UNUSED: Final = ("bin", "kubernetes/aio", "**/tests", "**/__pycache__", "**/*.pyi", "**/*.a")
"""Files that no command reads; kubernetes/aio takes 70 MB."""
_EXECUTABLE: Final = 0o755
_READABLE: Final = 0o644


class KrewPlatform(Struct, frozen=True):
    """`os` and `arch` as krew names them; `tags` are pip's names for wheels that run there."""

    os: str
    arch: str
    tags: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.os}-{self.arch}"


def _linux(arch: str, machine: str) -> KrewPlatform:
    tags = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
    return KrewPlatform("linux", arch, tuple(f"{tag}_{machine}" for tag in tags))


PLATFORMS: Final = (
    _linux("amd64", "x86_64"),
    _linux("arm64", "aarch64"),
    KrewPlatform("darwin", "arm64", ("macosx_14_0_arm64",)),
)
"""The platforms for which every locked package has a wheel; for Intel Macs some have none."""


class KrewArchive(Struct, frozen=True):
    """The archive of a platform, as the bytes of a .tar.gz."""

    platform: KrewPlatform
    packed: bytes

    def file_name(self, release: str) -> str:
        return f"kubectl-edl-{release}-{self.platform.name}.tar.gz"


def build(wheel: Path, target: KrewPlatform, pythons: Sequence[str] = PYTHONS) -> KrewArchive:
    """Install the wheel and its dependencies with pip, by the locked checksums, and pack them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lib, lock = folder / "lib", folder / "lock"
        lock.write_text("".join(_locked()))
        for python in pythons:
            fresh = folder / python
            _install(fresh, *wheel_options(target, python), "-r", str(lock))
            shutil.copytree(fresh, lib, dirs_exist_ok=True)
            shutil.rmtree(fresh)
        _install(lib, str(wheel))
        _prune(lib)
        shutil.copy(KREW / "__main__.py", lib)
        return KrewArchive(target, packed(lib))


def wheel_options(target: KrewPlatform, python: str) -> tuple[str, ...]:
    """Options with which pip takes the locked wheels of this platform and Python."""
    tags = [word for tag in target.tags for word in ("--platform", tag)]
    only = ("--only-binary", ":all:", "--require-hashes", "--python-version", python)
    return (*only, *tags)


def _install(target: Path, *words: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-compile", "--upgrade", "--target", str(target)]
    subprocess.run([*command, *words], check=True)


def _locked() -> Iterator[str]:
    """The lines of requirements.lock, without the packages that only servers need."""
    needed = True
    for line in LOCK.read_text().splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            needed = line.partition("==")[0] not in _SERVERS
        if needed:
            yield line


def _prune(lib: Path) -> None:
    for pattern in (*_RECORDS, *_UNUSED):
        for path in list(lib.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def packed(lib: Path) -> bytes:
    """A .tar.gz of the folder; equal packages give equal bytes and checksums."""
    found_files = (path for path in lib.rglob("*") if path.is_file())
    files = [(path, f"lib/{path.relative_to(lib).as_posix()}") for path in found_files]
    files += [(KREW / "kubectl-edl", "kubectl-edl"), (ROOT / "LICENSE", "LICENSE")]
    archive = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=archive, mode="wb", mtime=0, compresslevel=6) as stream,
        tarfile.open(fileobj=stream, mode="w") as tar,
    ):
        for path, name in sorted(files, key=lambda pair: pair[1]):
            member = tarfile.TarInfo(name)
            member.size = path.stat().st_size
            member.mode = _EXECUTABLE if name == "kubectl-edl" else _READABLE
            with path.open("rb") as content:
                tar.addfile(member, content)
    return archive.getvalue()


def manifest(release: str, homepage: str, folder: str, archives: Iterable[KrewArchive]) -> str:
    """The manifest for krew, `edl.yaml`; the archives are downloaded from the URL `folder`."""
    _, _, text = (KREW / "edl.yaml").read_text().partition("\n")
    before = yaml.safe_load(text)
    platforms = [_platform(release, folder, archive) for archive in archives]
    added = {"version": f"v{release}", "homepage": homepage, "platforms": platforms}
    return edited(text, before, before | {"spec": before["spec"] | added})


def _platform(release: str, folder: str, archive: KrewArchive) -> Json:
    labels = {"os": archive.platform.os, "arch": archive.platform.arch}
    return {
        "selector": {"matchLabels": labels},
        "uri": f"{folder.rstrip('/')}/{archive.file_name(release)}",
        "sha256": hashlib.sha256(archive.packed).hexdigest(),
        "bin": "kubectl-edl",
    }
