"""What a release publishes besides the image: the plugin for krew, and the bill of materials.

`python -m manifests.dist --homepage https://… --url https://…/v0.1.0` writes `dist/`: the wheel,
the archive that krew downloads from that address, its manifest with the checksum, and sbom.json.
"""

import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Final

import click

from manifests import sbom
from manifests.documents import HERE

KREW: Final = HERE / "krew"
ROOT: Final = HERE.parent
_EXECUTABLE: Final = 0o755
_READABLE: Final = 0o644


def archive(wheel: Path) -> bytes:
    """The archive that krew unpacks: the same bytes for the same wheel."""
    files = [KREW / "kubectl-edl", ROOT / "LICENSE", ROOT / "requirements.lock", wheel]
    packed = io.BytesIO()
    # No time of today: a checksum says what is inside.
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream:
        _pack(stream, files)
    return packed.getvalue()


def manifest(release: str, homepage: str, uri: str, packed: bytes) -> str:
    """Krew's `edl.yaml` for an archive that is downloaded from `uri`."""
    filled = {
        "VERSION": f"v{release}",
        "HOMEPAGE": homepage,
        "URI": uri,
        "SHA256": hashlib.sha256(packed).hexdigest(),
    }
    _, _, text = (KREW / "edl.yaml").read_text().partition("\n")
    for word, value in filled.items():
        text = text.replace(f": {word}\n", f": {value}\n")
    return text


def _pack(stream: gzip.GzipFile, files: Iterable[Path]) -> None:
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for path in files:
            content = path.read_bytes()
            member = tarfile.TarInfo(path.name)
            member.size = len(content)
            member.mode = _EXECUTABLE if path.parent == KREW else _READABLE
            tar.addfile(member, io.BytesIO(content))


def _built(folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w"]
    subprocess.run([*command, str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob(f"kubectl_edl-{version('kubectl-edl')}-*.whl")
    return wheel


@click.command()
@click.option("--homepage", required=True, help="The project's address.")
@click.option("--url", required=True, help="Where the archive will be downloaded from, its folder.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "dist",
    help="The folder to write; default: dist.",
)
def dist(homepage: str, url: str, output: Path) -> None:
    """Write what a release publishes."""
    output.mkdir(parents=True, exist_ok=True)
    release = version("kubectl-edl")
    packed = archive(_built(output))
    name = f"kubectl-edl-{release}.tar.gz"
    (output / name).write_bytes(packed)
    uri = f"{url.rstrip('/')}/{name}"
    (output / "edl.yaml").write_text(manifest(release, homepage, uri, packed))
    (output / "sbom.json").write_text(sbom.text())
    click.echo("\n".join(sorted(str(path) for path in output.iterdir())))


if __name__ == "__main__":
    dist(prog_name="python -m manifests.dist")
