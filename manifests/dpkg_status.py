"""Debian's packages of an image, from its /var/lib/dpkg/status."""

from collections.abc import Iterator
from typing import Final

from cyclonedx.model.component import Component, ComponentType
from packageurl import PackageURL

_INSTALLED: Final = "install ok installed"


def debian_components(status: str) -> Iterator[Component]:
    """One for each installed package, in the file's order. Raises ValueError where it has none."""
    found = [fields for fields in _paragraphs(status) if fields.get("Status") == _INSTALLED]
    if not found:
        raise ValueError("no package is installed according to it: is it /var/lib/dpkg/status?")
    for fields in found:
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
    """Fields by name; further lines of a field are of no interest here."""
    for paragraph in status.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith(" ")]
        if lines:
            pairs = (line.partition(":") for line in lines)
            yield {name: value.strip() for name, _, value in pairs}
