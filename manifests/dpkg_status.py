"""Debian's packages of an image, from its /var/lib/dpkg/status."""

from collections.abc import Iterator
from typing import Final

from cyclonedx.model.component import Component, ComponentType
from packageurl import PackageURL

_INSTALLED: Final = " ok installed"
"""After what is wanted of the package: `install`, or `hold`."""
_NEEDED: Final = ("Package", "Version", "Architecture")


def debian_components(status: str) -> Iterator[Component]:
    """One for each installed package, in the file's order.

    Raises ValueError where it has none, or one without its name, version or architecture.
    """
    every = _paragraphs(status)
    found = [fields for fields in every if fields.get("Status", "").endswith(_INSTALLED)]
    if not found:
        raise ValueError("no package is installed according to it: is it /var/lib/dpkg/status?")
    for fields in found:
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
    """Fields by name; further lines of a field are of no interest here."""
    for paragraph in status.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith(" ")]
        if lines:
            pairs = (line.partition(":") for line in lines)
            yield {name: value.strip() for name, _, value in pairs}
