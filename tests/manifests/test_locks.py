"""What is installed is known to the byte: every file of every package by its checksum."""

import ast
import re
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
PACKAGES = ("edl", "webhook", "reconciler", "kubectl_edl", "certs")
IMAGE = "requirements.lock"
BUILD = "requirements-build.lock"
DEVELOPMENT = "requirements-dev.lock"
ENTRY = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)(?P<hashes>( --hash=\S+)*)")


def entries(file: str) -> list[re.Match[str]]:
    """One match for each package; a line that is none fails."""
    text = (ROOT / file).read_text().replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    found = [(line, ENTRY.fullmatch(line)) for line in lines if line and not line.startswith("#")]
    strange = [line for line, match in found if match is None]
    assert strange == [], f"{file}: neither a package nor a comment; renew it: make constraints"
    return [match for _, match in found if match]


def versions(file: str) -> dict[str, str]:
    return {canonicalize_name(entry["name"]): entry["version"] for entry in entries(file)}


@pytest.mark.parametrize(("file", "least"), [(IMAGE, 20), (DEVELOPMENT, 20), (BUILD, 2)])
def test_every_package_is_pinned_by_the_checksums_of_its_files(file: str, least: int) -> None:
    checksum = re.compile(r"--hash=sha256:[0-9a-f]{64}")
    bad = {
        entry["name"]: hashes
        for entry in entries(file)
        if not (hashes := entry["hashes"].split())
        or not all(checksum.fullmatch(each) for each in hashes)
    }
    assert len(versions(file)) >= least
    assert bad == {}


def test_development_has_the_versions_of_the_constraints() -> None:
    assert versions(DEVELOPMENT) == versions("constraints.txt")


def test_the_image_has_the_versions_of_development() -> None:
    assert versions(IMAGE).items() <= versions(DEVELOPMENT).items()


def test_the_image_has_all_that_its_packages_need_and_nothing_else() -> None:
    """It is installed as it stands: pip resolves nothing."""
    needed: set[str] = set()
    asked = [Requirement(line) for line in PROJECT["dependencies"]]
    while asked:
        one = asked.pop()
        name = canonicalize_name(one.name)
        if name in needed:
            continue
        needed.add(name)
        asked += [each for each in map(Requirement, distribution(name).requires or ()) if on(each)]
    assert versions(IMAGE).keys() == needed


def on(requirement: Requirement) -> bool:
    """Whether it counts on the image's Python, without extras."""
    marker = requirement.marker
    return marker is None or marker.evaluate({"python_version": "3.11", "extra": ""})


def test_no_lock_names_a_registry() -> None:
    text = "".join((ROOT / file).read_text() for file in (IMAGE, DEVELOPMENT, BUILD))
    assert not re.search(r"://|index-url|find-links|trusted-host| @ ", text)


def test_the_image_installs_by_checksum_alone() -> None:
    steps = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    installs = [line for line in steps.splitlines() if re.search(r"\bpip\b.* install ", line)]
    ours, *others = reversed(installs)
    assert {"--no-deps", "--no-build-isolation", "--no-index"} <= set(ours.split())
    by_checksum = re.compile(r" --require-hashes +--only-binary :all: -r (\S+)")
    assert [by_checksum.findall(line) for line in others] == [[BUILD], [IMAGE]]
    assert "constraints.txt" not in steps


def test_the_build_backend_is_what_the_project_asks_for() -> None:
    """pip does not look for it: in a build without isolation it takes what is installed."""
    locked = versions(BUILD)
    for each in map(Requirement, PYPROJECT["build-system"]["requires"]):
        assert each.specifier.contains(locked[canonicalize_name(each.name)])
    known = versions(DEVELOPMENT)
    assert all(known[name] == locked[name] for name in locked.keys() & known.keys())


def imported() -> set[str]:
    """The packages of others that ours import, by the name of their top module."""
    trees = (
        ast.parse(path.read_text()) for name in PACKAGES for path in (ROOT / name).rglob("*.py")
    )
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    modules += [
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    ]
    tops = {module.partition(".")[0] for module in modules}
    return tops - set(sys.stdlib_module_names) - {*PACKAGES, "manifests", "sandbox", "dev"}


def test_what_is_imported_is_declared() -> None:
    """A package that only others need may go with their next release."""
    projects = packages_distributions()
    declared = {
        canonicalize_name(Requirement(line).name)
        for line in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["plots"]]
    }
    assert {
        name
        for name in imported()
        if declared.isdisjoint(map(canonicalize_name, projects.get(name, [name])))
    } == set()
