"""Adds labels to the Jobs, CronJobs and pods in manifest files, or removes what is ours there."""

from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from edl import contract
from edl.convert.parts import other_schedulers
from edl.errors import Denied, Finding, refuse
from edl.writes import Json
from kubectl_edl.adopt.finished_work import repeated
from kubectl_edl.adopt.job_labels import LabelOptions, labelled
from kubectl_edl.adopt.release_job import unlabelled, without_labels
from kubectl_edl.cli.command_errors import Refused, no_such_job_in
from kubectl_edl.cli.completion_candidates import plain
from kubectl_edl.cli.context import CliContext
from kubectl_edl.output.serialize import json_stream
from kubectl_edl.output.yaml_writer import joined
from kubectl_edl.resources.manifest_items import JOB_KINDS, misshapen, name_of, prefixed, titled
from kubectl_edl.resources.manifest_sources import Named, sources
from kubectl_edl.resources.source_manifest import as_written
from kubectl_edl.resources.yaml_rewriter import Rewritten, hints, rewrite


def adopt_files(cli: CliContext, named: Named, labels: LabelOptions) -> list[Rewritten]:
    """The files' documents (`-` is stdin), with labels on all Jobs, CronJobs and pods or on one.

    Hints on stderr tell what would run again, and which settings are another scheduler's.

    Raises Denied with all findings, Missing if the named object is not in the files, Refused when
    there is nothing to label, Unreadable for a file that does not contain manifests.
    """

    def adopted(manifest: Json, where: str) -> Json:
        if manifest.get("kind") not in JOB_KINDS:
            return manifest
        refuse(misshapen(manifest, where))
        told.extend(_hints(manifest, where))
        try:
            return labelled(as_written(manifest), labels)
        except Denied as denied:
            raise Denied(prefixed(f"{where}: ", denied.findings)) from None

    told = list[str]()
    documents, edits = _edited(cli.stdin, named, adopted)
    if not edits.names:
        raise Refused(f"{edits.where} has no Job, CronJob or Pod to label")
    cli.warn(*told)
    return documents


def _hints(manifest: Json, where: str) -> Iterator[str]:
    """What would run again if the manifest replaces its Job, and settings of other schedulers."""
    whose = f"hint: {where}: {titled(manifest)}"
    if manifest["kind"] == "Job" and (work := repeated(manifest)):
        instead = "leave it out if that must not run again"
        yield f"{whose} {work}: kubectl replace --force starts all of it again; {instead}"
    for remark in other_schedulers.of_workload(manifest):
        yield f"{whose}: {remark}"


def release_files(stdin: TextIO, named: Named) -> list[Rewritten]:
    """The files' documents without our labels. Raises as `adopt_files` does."""

    def released(manifest: Json, where: str) -> Json:
        bare = without_labels(manifest)
        if manifest.get("kind") not in JOB_KINDS:
            return bare
        refuse(misshapen(bare, where))
        return unlabelled(manifest)

    documents, edits = _edited(stdin, named, released)
    if not edits.changed:
        whose = f'on Job "{edits.name}"' if edits.name else "on any Job, CronJob or Pod"
        raise Refused(f"{edits.where} has no label of {contract.PREFIX} {whose}: nothing to remove")
    return documents


def print_documents(cli: CliContext, documents: Sequence[Rewritten], output: str = "yaml") -> None:
    """Print the documents; as YAML, warn on stderr about what rewriting loses, such as comments."""
    if output == "json":
        cli.out.write(json_stream([document.value for document in documents]))
        return
    cli.warn(*hints(documents))
    cli.out.write(joined(document.text for document in documents))


class _Editor:
    """Edits manifests one by one, and collects the names of Jobs and all findings."""

    def __init__(self, name: str, where: str, edit: Callable[[Json, str], Json]) -> None:
        self.name = name
        self.where = where
        self._edit = edit
        self.names: list[str] = []
        self.findings = list[Finding]()
        self.changed = False

    def change(self, manifest: Json, where: str) -> Json | None:
        """The edited manifest; None if it stays unchanged."""
        name = name_of(manifest)
        if manifest.get("kind") in JOB_KINDS:
            self.names.append(name)
        if self.name not in ("", name):
            return None
        try:
            new = self._edit(manifest, where)
        except Denied as denied:
            self.findings += denied.findings
            return None
        self.changed |= new != manifest
        return None if new == manifest else new


def _edited(
    stdin: TextIO, named: Named, edit: Callable[[Json, str], Json]
) -> tuple[list[Rewritten], _Editor]:
    files = sources(named.filenames, stdin)
    where = ", ".join(source.name for source in files)
    editor = _Editor(plain(named.name), where, edit)
    documents = rewrite(files, editor.change)
    refuse(editor.findings)
    if editor.name and not editor.changed and editor.name not in editor.names:
        raise no_such_job_in(where, editor.name, editor.names)
    return documents, editor
