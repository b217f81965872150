"""Prints a report once, or again after each change in the cluster."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from edl.contract.manifest_parts import metadata
from edl.errors import Unreachable
from edl.kube.cluster import ListOptions, PluginCluster
from kubectl_edl.cli.context import CliContext
from kubectl_edl.cli.options import OutputOptions
from kubectl_edl.output.documents import API_VERSION
from kubectl_edl.output.printer import OutputForm, form
from kubectl_edl.output.report import JsonDocument, Report
from kubectl_edl.output.table import Layout, widths

Read = Callable[[], Report]


def show(cli: CliContext, output: OutputOptions, read: Read) -> None:
    report, chosen = read(), form(output.format)
    _print_hints(cli, chosen, report)
    if report.objects or not chosen.people:
        cli.out.write(chosen.prints(report, layout(cli, output)))


def follow(cli: CliContext, output: OutputOptions, read: Read, changes: Iterator[None]) -> None:
    """Print until `changes` end: redraw a table on a terminal, append everything else as lines."""
    if cli.width is not None and form(output.format).people:
        _draw(cli, output, reports(cli, read, changes))
    else:
        continued(cli, output, read, changes)


def printed(
    cli: CliContext,
    output: OutputOptions,
    read: Read,
    cluster: PluginCluster,
    selection: ListOptions,
) -> None:
    """Print once, or with `--watch` after each change of a selected object."""
    if output.watch:
        follow(cli, output, read, cli.changes(cluster, selection))
    else:
        show(cli, output, read)


def continued(cli: CliContext, output: OutputOptions, read: Read, changes: Iterator[None]) -> None:
    """Append new or changed lines, on a terminal too: earlier output is kept."""
    chosen = form(output.format)
    lines = _Lines(chosen, layout(replace(cli, width=None, size=None), output), output)
    for number, report in enumerate(reports(cli, read, changes)):
        if number == 0:
            _print_hints(cli, chosen, report)
        gone = lines.absent(report) if report.absence else ()
        cli.out.write(lines.news(report))
        cli.out.flush()
        for name in gone:
            cli.warn(f"{name} {report.absence}")


def layout(cli: CliContext, output: OutputOptions) -> Layout:
    """The layout for stdout as it is now: the terminal may be resized between two reports."""
    width, height = cli.size() if cli.size else (cli.width, None)
    return Layout(
        width=width,
        height=height,
        header=not output.no_headers,
        unicode=cli.unicode,
        wide=output.format == "wide",
        coloured={"auto": cli.coloured}.get(output.color, output.color == "always"),
    )


def _draw(cli: CliContext, output: OutputOptions, reports: Iterator[Report]) -> None:
    """Redraw on the alternate screen; the last report stays on the normal screen."""
    from kubectl_edl.output.alternate_screen import ENTER, LEAVE, fitted, over

    picture = ""
    try:
        with cli.listening():
            cli.out.write(ENTER)
            for report in reports:
                now = layout(cli, output)
                draw = report.picture or partial(form(output.format).prints, report)
                picture = fitted(draw(now) or f"{report.nothing}\n", now)
                cli.out.write(over(picture))
                cli.out.flush()
    finally:
        cli.out.write(LEAVE + picture)
        cli.out.flush()


class _Lines:
    """Remembers what was printed, and prints new and changed rows."""

    def __init__(self, chosen: OutputForm, plain: Layout, output: OutputOptions) -> None:
        self._form = chosen
        self._layout = plain
        self._wide = output.format == "wide"
        self._shown: dict[tuple[str, str], object] = {}

    def absent(self, report: Report) -> Sequence[str]:
        """The objects of the report before that this one lacks: `default/mnist`."""
        gone = self._shown.keys() - set(map(_key, report.objects))
        return ["/".join(key) for key in sorted(gone)]

    def news(self, report: Report) -> str:
        contents = dict(zip(map(_key, report.objects), self._contents(report), strict=True))
        new = [
            index
            for index, (key, content) in enumerate(contents.items())
            if self._shown.get(key) != content
        ]
        self._shown = contents
        if not new:
            return ""
        return self._text(report.only(new) if report.list_kind else report)

    def _contents(self, report: Report) -> Sequence[object]:
        """The contents that are compared to detect a change: a table's cells without the age.

        Kubernetes' own objects are compared whole; ours contain more than a table shows.
        """
        table = self._form.table(report)
        if table is None or not self._form.people or report.list_version != API_VERSION:
            return report.objects
        visible = table if self._wide else table.narrow()
        return [row[:-1] for row in visible.rows]

    def _text(self, report: Report) -> str:
        table = self._form.table(report)
        if table is not None:
            text = self._form.prints(report, self._layout)
            floor = widths(table, self._layout)
            self._layout = structs.replace(self._layout, header=False, floor=floor)
            return text
        if self._form.people:
            return self._form.prints(report, self._layout) + "\n"
        if self._form.prints_one is None:
            return self._form.prints(report, self._layout)
        return "".join(map(self._form.prints_one, report.objects))


def reports(cli: CliContext, read: Read, changes: Iterator[None]) -> Iterator[Report]:
    """One report now and one after each change; while the API server is unreachable, it waits."""
    yield read()
    away = False
    for _ in changes:
        try:
            yield read()
        except Unreachable as error:
            if not away:
                cli.warn(f"waiting: {error}")
            away = True
        else:
            away = False


def last(reports: Iterator[Report]) -> Report:
    """The last report; there is at least one."""
    return deque(reports, maxlen=1)[0]


def _print_hints(cli: CliContext, chosen: OutputForm, report: Report) -> None:
    """Print hints, and the message for an empty list, to stderr."""
    cli.warn(*report.hints)
    if not report.objects and chosen.people:
        cli.warn(report.nothing)


def _key(document: JsonDocument) -> tuple[str, str]:
    """Namespace and name; both are empty for a report about the whole cluster."""
    meta = metadata(document)
    return meta.get("namespace", ""), meta.get("name", "")
