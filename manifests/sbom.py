"""A bill of materials (CycloneDX, JSON): Python packages, kubectl, an image's Debian packages.

`python -m manifests.sbom` writes it, from the metadata of the installed distributions that
kubectl-edl requires, whichever way, and from the Go module that kubectl is built from. Debian's
packages are read from the image's own list, which has to be given; without it they are missing.
Go modules inside of kubectl are not listed one by one: Kubernetes publishes its own bill.
"""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final, TextIO

import click
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from manifests.documents import HERE

PROJECT: Final = "kubectl-edl"
KUBECTL: Final = "k8s.io/kubernetes"
_COPIED: Final = re.compile(r"^COPY (sandbox/controlplane/\S+/go\.mod) ", re.MULTILINE)
OUTPUT: Final = HERE.parent / "dist" / "sbom.json"


def bill(dpkg_status: str = "") -> Bom:
    """The bill of kubectl-edl and everything that it needs at run time.

    `dpkg_status`: the text of the image's /var/lib/dpkg/status. Raises ValueError if it is invalid.
    """
    bom = Bom()
    root = _component(distribution(PROJECT), ComponentType.APPLICATION)
    bom.metadata.component = root
    needs = {name: _component(found, ComponentType.LIBRARY) for name, found in closure().items()}
    kubectl = _kubectl()
    debian = tuple(debian_components(dpkg_status)) if dpkg_status else ()
    for component in (*needs.values(), kubectl, *debian):
        bom.components.add(component)
    bom.register_dependency(root, [*(needs[name] for name in _needed(PROJECT)), kubectl, *debian])
    for name, component in needs.items():
        bom.register_dependency(component, [needs[need] for need in _needed(name)])
    return bom


def closure() -> dict[str, Distribution]:
    """The distributions that kubectl-edl requires, also indirectly, by canonical name."""
    packages: dict[str, Distribution] = {}
    open_names = [*_needed(PROJECT)]
    while open_names:
        name = open_names.pop()
        if name not in packages:
            packages[name] = distribution(name)
            open_names += _needed(name)
    return dict(sorted(packages.items()))


def text(dpkg_status: str = "") -> str:
    return f"{JsonV1Dot6(bill(dpkg_status)).output_as_string(indent=2)}\n"


def _needed(name: str) -> Iterator[str]:
    """The distributions that one requires on this system, without its extras."""
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


def _component(package: Distribution, kind: ComponentType) -> Component:
    name = canonicalize_name(package.metadata["Name"])
    expression = package.metadata["License-Expression"]
    purl = PackageURL("pypi", name=name, version=package.version)
    return Component(
        name=name,
        version=package.version,
        type=kind,
        purl=purl,
        bom_ref=str(purl),
        licenses=[LicenseExpression(expression)] if expression else (),
    )


def _kubectl() -> Component:
    """kubectl, which the launcher of an MPI job receives as a program."""
    root = HERE.parent
    copied = _COPIED.search((root / "Dockerfile").read_text())
    if copied is None:
        raise click.ClickException("the Dockerfile copies no go.mod of kubectl's")
    required = rf"^\s*{re.escape(KUBECTL)} (v\S+)"
    match = re.search(required, (root / copied[1]).read_text(), re.MULTILINE)
    if match is None:
        raise click.ClickException(f"{copied[1]} does not require {KUBECTL}")
    namespace, _, name = KUBECTL.partition("/")
    purl = PackageURL("golang", namespace, name, match[1])
    kind = ComponentType.APPLICATION
    return Component(name=KUBECTL, version=match[1], type=kind, purl=purl, bom_ref=str(purl))


@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default=OUTPUT,
    help="The file to write, - for standard output; default: dist/sbom.json.",
)
@click.option(
    "--dpkg-status",
    type=click.File(),
    help="The image's /var/lib/dpkg/status, - for standard input: its Debian packages are listed.",
)
def sbom(output: Path, dpkg_status: TextIO | None) -> None:
    """Write the bill of Python packages and kubectl, and of an image's Debian packages."""
    try:
        document = text(dpkg_status.read() if dpkg_status else "")
    except ValueError as error:
        raise click.ClickException(f"--dpkg-status: {error}") from error
    if str(output) != "-":
        output.parent.mkdir(parents=True, exist_ok=True)
    with click.open_file(str(output), "w") as stream:
        stream.write(document)


_INSTALLED: Final = " ok installed"
"""The end of the `Status` field of an installed package; before it stands `install` or `hold`."""
_NEEDED: Final = ("Package", "Version", "Architecture")


def debian_components(status: str) -> Iterator[Component]:
    """A component for each installed package, in the file's order.

    Raises ValueError if there is none, or if one lacks its name, version or architecture.
    """
    every = _paragraphs(status)
    packages = [fields for fields in every if fields.get("Status", "").endswith(_INSTALLED)]
    if not packages:
        raise ValueError("no package is installed according to it: is it /var/lib/dpkg/status?")
    for fields in packages:
        if missing := [name for name in _NEEDED if name not in fields]:
            raise ValueError(f"{fields.get('Package', 'a package')} has no {missing[0]}")
        qualifiers = {"arch": fields["Architecture"]}
        name, version = fields["Package"], fields["Version"]
        purl = PackageURL("deb", "debian", name, version, qualifiers)
        yield Component(
            name=name,
            version=version,
            type=ComponentType.LIBRARY,
            purl=purl,
            bom_ref=str(purl),
        )


def _paragraphs(status: str) -> Iterator[dict[str, str]]:
    """The fields of each package, by name; only the first line of a field is kept."""
    for paragraph in status.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith(" ")]
        if lines:
            pairs = (line.partition(":") for line in lines)
            yield {name: value.strip() for name, _, value in pairs}


if __name__ == "__main__":
    sbom(prog_name="python -m manifests.sbom")
