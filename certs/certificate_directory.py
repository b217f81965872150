"""Certificates in a directory: readable by their owner alone, each file whole or not there."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from certs.bundle import CertificateError


def read(directory: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Those of the named files that exist; raises CertificateError when one cannot be read."""
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
    """Write each file with mode 0600 under its name at once; the directory is made if missing.

    A reader may come between two files: it sees a pair that does not match, and waits.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, content in files.items():
            _replace(directory / name, content)
    except OSError as error:
        raise CertificateError(f"cannot write {error.filename}: {error.strerror}") from error


def _replace(path: Path, content: bytes) -> None:
    # mkstemp makes files with mode 0600: the key is at no moment readable by others.
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
