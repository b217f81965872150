"""What a release publishes: krew's archives and manifest, the bill of materials."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from cyclonedx.model.bom import Bom
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from edl.writes import Json
from kubectl_edl.cli.root import COMMANDS
from manifests import krew_archive, sbom
from manifests.krew_archive import PLATFORMS, KrewArchive
from manifests.sbom import debian_components

ROOT = Path(__file__).parents[2]
HOME = "https://example.test"
URL = "https://example.test/v0.1.0"


def filled() -> Json:
    archives = [KrewArchive(one, one.name.encode()) for one in PLATFORMS]
    found: Json = yaml.safe_load(krew_archive.manifest("0.1.0", HOME, URL, archives))
    return found


def test_krew_takes_the_manifest() -> None:
    """The rules of krew's own validation, and of its index."""
    found = filled()
    assert found["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert found["kind"] == "Plugin"
    assert found["metadata"]["name"] == "edl"
    spec = found["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", spec["version"])
    assert 0 < len(spec["shortDescription"]) <= 50
    assert "\n" not in spec["shortDescription"]
    assert spec["homepage"] == HOME
    assert spec["description"].endswith("operators.\n")


def test_each_package_of_the_wheel_is_marked_as_typed() -> None:
    """PEP 561: without the file, type checkers ignore the annotations of an installed package."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    packages = build["targets"]["wheel"]["packages"]
    assert packages
    assert [name for name in packages if not (ROOT / name / "py.typed").is_file()] == []


def test_each_platform_has_an_archive_and_its_checksum() -> None:
    platforms = filled()["spec"]["platforms"]
    names = ["linux-amd64", "linux-arm64", "darwin-arm64"]
    for name, one in zip(names, platforms, strict=True):
        system, arch = name.split("-")
        assert one == {
            "selector": {"matchLabels": {"os": system, "arch": arch}},
            "uri": f"{URL}/kubectl-edl-0.1.0-{name}.tar.gz",
            "sha256": hashlib.sha256(name.encode()).hexdigest(),
            "bin": "kubectl-edl",
        }


def test_the_manifest_names_commands_that_there_are() -> None:
    named = re.findall(r"\(([a-z, ]+)\)", filled()["spec"]["description"])
    words = {word for group in named for word in group.split(", ")}
    assert words
    assert words <= COMMANDS.keys()


def test_the_archive_has_the_same_bytes_at_any_time(tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    (lib / "package").mkdir(parents=True)
    (lib / "package" / "__init__.py").write_text("x = 1\n")
    first = krew_archive.packed(lib)
    os.utime(lib / "package" / "__init__.py", (1, 1))
    assert krew_archive.packed(lib) == first
    with tarfile.open(fileobj=io.BytesIO(first)) as tar:
        modes = {member.name: member.mode for member in tar.getmembers()}
    assert modes == {"kubectl-edl": 0o755, "LICENSE": 0o644, "lib/package/__init__.py": 0o644}


def stub_wheel(folder: Path) -> Path:
    """A wheel of one module and one command, always of the same bytes."""
    info = "stub-1.dist-info"
    files = {
        "stub.py": "def main() -> None: ...\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: stub\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\nstub = stub:main\n",
        f"{info}/RECORD": "",
    }
    folder.mkdir()
    with zipfile.ZipFile(folder / "stub-1-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(zipfile.ZipInfo(name), text)
    return folder / "stub-1-py3-none-any.whl"


def test_the_archive_has_the_same_bytes_wherever_its_wheel_was_built(tmp_path: Path) -> None:
    wheels = [stub_wheel(tmp_path / name) for name in ("here", "there")]
    here, there = (krew_archive.build(one, PLATFORMS[0], pythons=()) for one in wheels)
    assert here.packed == there.packed
    with tarfile.open(fileobj=io.BytesIO(here.packed)) as tar:
        names = tar.getnames()
    assert {"lib/stub.py", "lib/stub-1.dist-info/METADATA"} <= set(names)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("import numpy_of_another_python", "this Python ({version}) cannot load numpy_of_another"),
        ("def main() -> None: print('it runs')", "it runs"),
    ],
)
def test_the_program_runs_where_it_lies_or_says_why_not(
    tmp_path: Path, module: str, said: str
) -> None:
    package = tmp_path / "lib" / "kubectl_edl"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "main.py").write_text(f"{module}\n")
    for name, place in (("kubectl-edl", tmp_path), ("__main__.py", tmp_path / "lib")):
        shutil.copy(krew_archive.KREW / name, place)
    linked = tmp_path / "kubectl-edl-by-krew"
    linked.symlink_to(tmp_path / "kubectl-edl")
    done = subprocess.run([linked], capture_output=True, text=True, check=False)
    version = "{}.{}".format(*sys.version_info[:2])
    assert said.format(version=version) in done.stdout + done.stderr


def test_the_program_says_what_it_needs(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "dirname", "readlink"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    done = subprocess.run(
        [krew_archive.KREW / "kubectl-edl", "version"],
        env={"PATH": str(tools), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "error: kubectl-edl needs Python 3.11 or newer as python3 on your PATH\n"
    )


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


DPKG_STATUS = """\
Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u13
Description: GNU C Library: Shared libraries
 Version: not a field

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: adduser
Status: install ok installed
Architecture: all
Version: 3.134
"""


def test_debian_packages_of_an_image_are_in_it_as_its_own_list_has_them() -> None:
    found: Json = json.loads(sbom.text(DPKG_STATUS))
    debian = [one["purl"] for one in found["components"] if one["purl"].startswith("pkg:deb/")]
    assert debian == [
        "pkg:deb/debian/adduser@3.134?arch=all",
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u13?arch=amd64",
    ]
    (ours,) = (
        one for one in found["dependencies"] if one["ref"].startswith("pkg:pypi/kubectl-edl")
    )
    assert set(debian) <= set(ours["dependsOn"])


def test_the_command_lists_the_debian_packages_that_it_reads() -> None:
    command = (sys.executable, "-m", "manifests.sbom", "--dpkg-status", "-", "--output", "-")
    done = subprocess.run(
        command, input=DPKG_STATUS, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "pkg:deb/debian/libc6@2.36-9%2Bdeb12u13?arch=amd64" in done.stdout


def test_another_file_than_dpkgs_is_refused() -> None:
    with pytest.raises(ValueError, match="no package is installed according to it"):
        sbom.text("# fstab\n/dev/sda1 / ext4\n")


def test_a_package_that_is_held_is_installed() -> None:
    held = "Package: libc6\nStatus: hold ok installed\nVersion: 2.36\nArchitecture: amd64\n"
    assert [one.name for one in debian_components(held)] == ["libc6"]
    with pytest.raises(ValueError, match="libc6 has no Version"):
        list(debian_components(held.replace("Version: 2.36\n", "")))


def test_kubectl_is_in_it() -> None:
    assert any(
        component["purl"].startswith("pkg:golang/k8s.io/kubernetes@v1.")
        for component in bill()["components"]
    )
