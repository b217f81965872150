"""Images of a few static files, as archives that containerd imports, made without a builder."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from sandbox.builds.recipe import machine

_EXECUTABLE: Final = 0o755


def write_image(
    target: Path, reference: str, files: Mapping[str, Path], entrypoint: Sequence[str]
) -> None:
    """Write an archive in the format of `docker save`. files: local files by their paths in it."""
    layer = _layer(files)
    config = {
        "architecture": machine(),
        "os": "linux",
        "config": {"Entrypoint": list(entrypoint), "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [reference], "Layers": ["layer.tar"]}]
    with tarfile.open(target, "w") as archive:
        _add(archive, "config.json", json.dumps(config).encode())
        _add(archive, "manifest.json", json.dumps(manifest).encode())
        _add(archive, "layer.tar", layer)


def _layer(files: Mapping[str, Path]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for path, file in sorted(files.items()):
            _add(layer, path.lstrip("/"), file.read_bytes(), _EXECUTABLE)
    return content.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
