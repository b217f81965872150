"""Removes kubectl-edl's labels, annotations and gates from the manifests in files."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from edl import contract
from edl.errors import Denied
from edl.writes import Json
from kubectl_edl.adopt.adopt_files import names_of, print_yaml
from kubectl_edl.adopt.strip import unlabelled, without_labels
from kubectl_edl.cli.candidates import plain
from kubectl_edl.cli.command_errors import Refused, no_such_job_in
from kubectl_edl.cli.context import CliContext
from kubectl_edl.output.serialize import json_stream
from kubectl_edl.resources.manifest_items import JOB_KINDS, misshapen, name_of
from kubectl_edl.resources.manifest_sources import Named, sources
from kubectl_edl.resources.yaml_rewriter import Rewritten, rewrite

if TYPE_CHECKING:
    from edl.errors import Finding

Documents = Sequence[Rewritten]


def release_files(stdin: TextIO, named: Named) -> Documents:
    """The files' documents (`-` is stdin) without our labels; a name restricts this to that Job.

    Raises Denied for fields of the wrong type, Missing if the named Job is not in the files,
    Refused if there is nothing to remove, Unreadable for a file that is malformed.
    """
    found = sources(named.filenames, stdin)
    name, where = plain(named.name), names_of(found)
    remover = _Remover(name)
    documents = rewrite(found, remover.change)
    if remover.findings:
        raise Denied(remover.findings)
    if remover.changed:
        return documents
    if name and name not in remover.names:
        raise no_such_job_in(where, name, remover.names)
    whose = f'on Job "{name}"' if name else "on any Job, CronJob or Pod"
    raise Refused(f"{where} has no label of {contract.PREFIX} {whose}: nothing to remove")


class _Remover:
    """Removes our labels from manifests one by one, and records the Jobs' names."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.names: list[str] = []
        self.findings: list[Finding] = []
        self.changed = False

    def change(self, manifest: Json, where: str) -> Json | None:
        """The manifest without our labels; None if it stays unchanged."""
        is_job, name = manifest.get("kind") in JOB_KINDS, name_of(manifest)
        if is_job:
            self.names.append(name)
        if self._name not in ("", name):
            return None
        if is_job and (wrong := misshapen(without_labels(manifest), where)):
            self.findings += wrong
            return None
        bare = (unlabelled if is_job else without_labels)(manifest)
        if bare == manifest:
            return None
        self.changed = True
        return bare


def _print_json(world: CliContext, found: Documents) -> None:
    """Print JSON. It cannot contain comments, so no lost comments are reported."""
    world.out.write(json_stream([one.value for one in found]))


FORMS: Final[Mapping[str, Callable[[CliContext, Documents], None]]] = {
    "": print_yaml,
    "yaml": print_yaml,
    "json": _print_json,
}
