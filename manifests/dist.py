"""The files of a release other than the image: the plugin for krew and a bill of materials.

`python -m manifests.dist --homepage https://… --url https://…/v0.1.0` writes `dist/`: the wheel,
an archive per platform, which krew downloads from that URL, krew's manifest with their checksums,
and sbom.json. pip's own settings, such as PIP_INDEX_URL, say where it gets packages.
"""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click

from manifests import krew_archive, sbom
from manifests.krew_archive import PLATFORMS, PYTHONS, ROOT


def _built(folder: Path) -> Path:
    """Build the wheel of this checkout into the folder; returns its path."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w"]
    subprocess.run([*command, str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob(f"kubectl_edl-{version('kubectl-edl')}-*.whl")
    return wheel


@click.command()
@click.option("--homepage", required=True, help="The project's address.")
@click.option(
    "--url", required=True, help="Where the archives will be, the address of their folder."
)
@click.option(
    "--platform",
    "platforms",
    multiple=True,
    type=click.Choice([platform.name for platform in PLATFORMS]),
    help="Only the archive of this platform; may be repeated.",
)
@click.option(
    "--python",
    "pythons",
    multiple=True,
    type=click.Choice(PYTHONS),
    help="Only with extension modules for this Python; may be repeated.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "dist",
    help="The folder to write; default: dist.",
)
def dist(
    *,
    homepage: str,
    url: str,
    platforms: tuple[str, ...],
    pythons: tuple[str, ...],
    output: Path,
) -> None:
    """Write what a release publishes."""
    output.mkdir(parents=True, exist_ok=True)
    release, wheel = version("kubectl-edl"), _built(output)
    chosen = [platform for platform in PLATFORMS if not platforms or platform.name in platforms]
    archives = [krew_archive.build(wheel, platform, pythons or PYTHONS) for platform in chosen]
    for archive in archives:
        (output / archive.file_name(release)).write_bytes(archive.packed)
    text = krew_archive.manifest(release, homepage, url, archives)
    (output / "edl.yaml").write_text(text)
    (output / "sbom.json").write_text(sbom.text())
    click.echo("\n".join(sorted(str(path) for path in output.iterdir())))


if __name__ == "__main__":
    dist(prog_name="python -m manifests.dist")
