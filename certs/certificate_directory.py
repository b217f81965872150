"""Certificates in a directory: readable by their owner alone, each file written atomically."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from certs.bundle import CertificateError


def read(directory: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The named files that exist. Raises CertificateError if one cannot be read."""
    files = {}
    try:
        for name in names:
            path = directory / name
            if path.exists():
                files[name] = path.read_bytes()
    except OSError as error:
        raise CertificateError(f"cannot read {error.filename}: {error.strerror}") from error
    return files


def write(directory: Path, files: Mapping[str, bytes]) -> None:
    """Writes each file atomically with mode 0600; the directory is created if missing.

    Files are replaced one by one: a reader may see a pair that does not match for a moment. Raises
    CertificateError.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in files.items():
            _replace(directory / name, content)
    except OSError as error:
        raise CertificateError(f"cannot write {error.filename}: {error.strerror}") from error


def _replace(path: Path, content: bytes) -> None:
    # mkstemp creates files with mode 0600: others can read the key at no time.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
