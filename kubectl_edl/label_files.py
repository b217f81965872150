"""A file of manifests in, the same with labels out."""

from typing import TYPE_CHECKING, Final, TextIO

from edl.errors import Denied
from edl.writes import Json
from kubectl_edl.labels import Labels, labelled
from kubectl_edl.manifests import rewrite
from kubectl_edl.refusals import Refused
from kubectl_edl.sources import sources

if TYPE_CHECKING:
    from edl.errors import Finding

_KINDS: Final = frozenset({"Job", "CronJob", "Pod"})


def label_file(stdin: TextIO, filename: str, name: str, labels: Labels) -> str:
    """The file's text (`-` is stdin) with labels on each Job, CronJob and pod, or on `name` only.

    Raises Denied with the findings of all of them, Refused when there is nothing to label,
    Unreadable for what is no manifest.
    """
    (source,) = sources((filename,), stdin)
    labeller = _Labeller(name, labels)
    text = rewrite(source, labeller.change)
    if labeller.findings:
        raise Denied(labeller.findings)
    if not labeller.seen:
        what = f'Job "{name}"' if name else "Job, CronJob or Pod"
        raise Refused(f"{source.name} has no {what} to label")
    return text


class _Labeller:
    """Labels one manifest after the other and gathers what is wrong with any."""

    def __init__(self, name: str, labels: Labels) -> None:
        self._name = name
        self._labels = labels
        self.seen = 0
        self.findings: list[Finding] = []

    def change(self, manifest: Json) -> Json | None:
        """The labelled manifest, None for one that stays as it is."""
        if manifest.get("kind") == "List":
            items = [self.change(item) or item for item in manifest.get("items") or ()]
            return {**manifest, "items": items}
        name = (manifest.get("metadata") or {}).get("name") or ""
        if manifest.get("kind") not in _KINDS or (self._name and name != self._name):
            return None
        self.seen += 1
        try:
            return labelled(manifest, self._labels)
        except Denied as denied:
            self.findings.extend(denied.findings)
            return None
