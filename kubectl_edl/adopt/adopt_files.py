"""Adds labels to the Jobs, CronJobs and pods in manifest files."""

from typing import TYPE_CHECKING, TextIO

from edl.errors import Denied
from edl.writes import Json
from kubectl_edl.adopt.job_labels import LabelOptions, labelled
from kubectl_edl.cli.candidates import plain
from kubectl_edl.cli.command_errors import Refused, no_such_job_in
from kubectl_edl.cli.context import CliContext
from kubectl_edl.output.yaml_writer import joined
from kubectl_edl.resources.manifest_items import JOB_KINDS, misshapen, name_of, prefixed
from kubectl_edl.resources.manifest_sources import Named, sources
from kubectl_edl.resources.source_manifest import as_written
from kubectl_edl.resources.yaml_rewriter import Rewritten, hints, rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edl.errors import Finding
    from kubectl_edl.resources.manifest_sources import ManifestSource


def adopt_files(stdin: TextIO, named: Named, labels: LabelOptions) -> list[Rewritten]:
    """The files' documents (`-` is stdin), with labels on all Jobs, CronJobs and pods or on one.

    Raises Denied with all findings, Missing if the named object is not in the files, Refused when
    there is nothing to label, Unreadable for a file that does not contain manifests.
    """
    found = sources(named.filenames, stdin)
    name, where = plain(named.name), names_of(found)
    labeller = _Labeller(name, labels)
    documents = rewrite(found, labeller.change)
    if labeller.findings:
        raise Denied(labeller.findings)
    if name and name not in labeller.names:
        raise no_such_job_in(where, name, labeller.names)
    if not labeller.names:
        raise Refused(f"{where} has no Job, CronJob or Pod to label")
    return documents


def print_yaml(world: CliContext, found: "Sequence[Rewritten]") -> None:
    """Print the documents, and warn on stderr about what rewriting loses, such as comments."""
    for hint in hints(found):
        world.warn(hint)
    world.out.write(joined(one.text for one in found))


def names_of(found: "Sequence[ManifestSource]") -> str:
    return ", ".join(source.name for source in found)


class _Labeller:
    """Labels manifests one by one, and collects all findings."""

    def __init__(self, name: str, labels: LabelOptions) -> None:
        self._name = name
        self._labels = labels
        self.names: list[str] = []
        self.findings: list[Finding] = []

    def change(self, manifest: Json, where: str) -> Json | None:
        """The labelled manifest; None if it stays unchanged."""
        if manifest.get("kind") not in JOB_KINDS:
            return None
        name = name_of(manifest)
        self.names.append(name)
        if self._name not in ("", name):
            return None
        if wrong := misshapen(manifest, where):
            self.findings += wrong
            return None
        try:
            return labelled(as_written(manifest), self._labels)
        except Denied as denied:
            self.findings += prefixed(f"{where}: ", denied.findings)
            return None
