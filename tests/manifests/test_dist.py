"""What a release publishes: krew's archive and manifest, the bill of materials."""

import hashlib
import io
import json
import re
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml
from cyclonedx.model.bom import Bom
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from edl.writes import Json
from kubectl_edl.cli.root import COMMANDS
from manifests import dist, sbom

ROOT = Path(__file__).parents[2]
HOME = "https://example.test"
URL = "https://example.test/v0.1.0/kubectl-edl-0.1.0.tar.gz"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "kubectl_edl-0.1.0-py3-none-any.whl"
    path.write_bytes(b"a wheel")
    return path


def filled(packed: bytes) -> Json:
    found: Json = yaml.safe_load(dist.manifest("0.1.0", HOME, URL, packed))
    return found


def test_krew_takes_the_manifest() -> None:
    """The rules of krew's own validation, and of its index."""
    found = filled(b"packed")
    assert found["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert found["kind"] == "Plugin"
    assert found["metadata"]["name"] == "edl"
    spec = found["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", spec["version"])
    assert 0 < len(spec["shortDescription"]) <= 50
    assert "\n" not in spec["shortDescription"]
    assert spec["homepage"] == HOME
    assert spec["description"]
    (platform,) = spec["platforms"]
    assert re.fullmatch(r"[a-f0-9]{64}", platform["sha256"])
    assert platform["uri"] == URL
    assert platform["bin"] == "kubectl-edl"
    selected = {each["key"]: each["values"] for each in platform["selector"]["matchExpressions"]}
    assert selected == {"os": ["linux", "darwin"], "arch": ["amd64", "arm64"]}


def test_the_manifest_names_commands_that_there_are() -> None:
    named = re.findall(r"\(([a-z, ]+)\)", filled(b"")["spec"]["description"])
    words = {word for group in named for word in group.split(", ")}
    assert words
    assert words <= COMMANDS.keys()


def test_no_placeholder_is_left() -> None:
    text = dist.manifest("0.1.0", HOME, URL, b"packed")
    assert not re.search(r": [A-Z0-9]{3,}$", text, re.MULTILINE)
    assert hashlib.sha256(b"packed").hexdigest() in text


def test_the_archive_holds_the_program_the_licence_and_the_wheel(wheel: Path) -> None:
    packed = dist.archive(wheel)
    assert packed == dist.archive(wheel), "the same bytes at any time"
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        modes = {member.name: member.mode for member in tar.getmembers()}
    assert modes == {
        "kubectl-edl": 0o755,
        "LICENSE": 0o644,
        "requirements.lock": 0o644,
        wheel.name: 0o644,
    }


def test_the_program_says_what_it_needs(wheel: Path, tmp_path: Path) -> None:
    """Without a Python nothing is made."""
    with tarfile.open(fileobj=io.BytesIO(dist.archive(wheel))) as tar:
        tar.extractall(tmp_path / "krew", filter="data")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "dirname", "basename", "readlink"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    done = subprocess.run(
        [tmp_path / "krew" / "kubectl-edl", "version"],
        env={"PATH": str(tools), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "error: kubectl-edl needs Python 3.11 or newer, with venv, as python3 on your PATH\n"
    )
    assert not (tmp_path / ".cache").exists()


def bill() -> Json:
    found: Json = json.loads(sbom.text())
    return found


def test_the_bill_of_materials_is_cyclonedx() -> None:
    found = bill()
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", found["serialNumber"])
    assert found["metadata"]["component"]["name"] == "kubectl-edl"
    read = Bom.from_json(found)  # type: ignore[attr-defined]
    assert len(read.components) == len(found["components"])
    references = {component["bom-ref"] for component in found["components"]}
    for each in found["dependencies"]:
        assert set(each.get("dependsOn", ())) <= references
    for component in found["components"]:
        assert component["purl"].endswith(f"@{component['version']}")


def test_every_package_of_the_image_is_in_it_as_pinned() -> None:
    """The image installs requirements.lock, and nothing else."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = dict(line.removesuffix(" \\").split("==") for line in lines if "==" in line)
    pinned = {canonicalize_name(name): number for name, number in pins.items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    listed = {
        component["name"]: component["version"]
        for component in bill()["components"]
        if component["purl"].startswith("pkg:pypi/")
    }
    assert needed <= listed.keys()
    assert {name: pinned.get(name) for name in listed} == listed


def test_kubectl_is_in_it() -> None:
    assert any(
        component["purl"].startswith("pkg:golang/k8s.io/kubernetes@v1.")
        for component in bill()["components"]
    )
