"""The Debian packages of an image, read from its /var/lib/dpkg/status."""

from collections.abc import Iterator
from typing import Final

from cyclonedx.model.component import Component, ComponentType
from packageurl import PackageURL

_INSTALLED: Final = " ok installed"
"""The end of the `Status` field of an installed package; before it stands `install` or `hold`."""
_NEEDED: Final = ("Package", "Version", "Architecture")


def debian_components(status: str) -> Iterator[Component]:
    """A component for each installed package, in the file's order.

    Raises ValueError if there is none, or if one lacks its name, version or architecture.
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
    """The fields of each package, by name; only the first line of a field is kept."""
    for paragraph in status.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith(" ")]
        if lines:
            pairs = (line.partition(":") for line in lines)
            yield {name: value.strip() for name, _, value in pairs}
