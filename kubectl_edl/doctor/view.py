"""The output of `kubectl edl doctor`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kubectl_edl.cli.context import CliContext
from kubectl_edl.cli.options import OutputOptions
from kubectl_edl.cli.watch_report import layout, show
from kubectl_edl.doctor.checks.check import CheckResult, SectionResult, Verdict
from kubectl_edl.output import color
from kubectl_edl.output.documents.cluster_documents import CheckReportDocument
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.safe_text import ascii_only, harmless
from kubectl_edl.output.table import Layout

_MARKS: Final[Mapping[Verdict, tuple[str, str, str]]] = {
    Verdict.OK: ("✓", "ok  ", color.GOOD),
    Verdict.WARNING: ("!", "WARN", color.WAITS),
    Verdict.FAILURE: ("✗", "FAIL", color.BAD),
}
"""Symbol, the same in ASCII, and colour."""
CUT_SHORT: Final = "Remaining checks skipped: they depend on this one."
_NOT_CHECKED: Final = "Not checked"


def print_results(cli: CliContext, output: OutputOptions, results: Iterable[SectionResult]) -> bool:
    """Print the results, and return whether a check failed.

    For people, each section is printed when it is done, as checks of a broken cluster take long.
    """
    sections: list[SectionResult] = []
    if output.format not in ("table", "wide"):
        sections += results
        report = Report((), documents("CheckReport", [document(sections)]), ())
        show(cli, output, lambda: report)
        return worst(sections) is Verdict.FAILURE
    how = layout(cli, output)
    for section in results:
        cli.out.write(section_text(section, how))
        cli.out.flush()
        sections.append(section)
    cli.out.write(_not_checked_text(sections, how))
    cli.say(summary(sections))
    return worst(sections) is Verdict.FAILURE


def section_text(section: SectionResult, how: Layout) -> str:
    """The title, a line per finding, and an empty line; a fix has a line of its own.

    Checks for which the user lacks a right are left to the end of the report.
    """
    distinct = _distinct(section)
    if len(distinct) < len(section.results) and not distinct:
        return ""
    lines = [section.title, *(line for result in distinct for line in _lines(result, how))]
    if section.cut_short:
        lines += ["", CUT_SHORT]
    return _paragraph(lines)


def _not_checked_text(sections: Sequence[SectionResult], how: Layout) -> str:
    """Each right that checks lack, once, with the titles of their sections; then their fix."""
    lines: list[str] = []
    for fix, rights in _unchecked(sections).items():
        what = [f"{', '.join(titles)}: {right}" for right, titles in rights.items()]
        *others, last = (CheckResult(Verdict.WARNING, message) for message in what)
        for result in (*others, replace(last, fix=fix)):
            lines += _lines(result, how)
    return _paragraph([_NOT_CHECKED, *lines]) if lines else ""


def _unchecked(sections: Sequence[SectionResult]) -> Mapping[str, Mapping[str, Iterable[str]]]:
    """The titles of the sections by the right that they lack, by its fix."""
    by_fix: dict[str, dict[str, dict[str, None]]] = {}
    for section in sections:
        for result in section.results:
            if result.unchecked:
                titles = by_fix.setdefault(result.fix, {}).setdefault(result.message, {})
                titles[section.title] = None
    return by_fix


def _paragraph(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in (*lines, ""))


def summary(sections: Sequence[SectionResult]) -> str:
    """The last line, with the numbers of findings."""
    counts = Counter(result.verdict for section in sections for result in _distinct(section))
    counts[Verdict.WARNING] += sum(map(len, _unchecked(sections).values()))
    passed = counts[Verdict.OK]
    bad = [_count(counts[Verdict.FAILURE], "failure"), _count(counts[Verdict.WARNING], "warning")]
    if not any(bad):
        return f"All checks passed: {_count(passed, 'check')}."
    rest = f", {_count(passed, 'check')} passed" if passed else ""
    return f"{' and '.join(filter(None, bad))}{rest}."


def _distinct(section: SectionResult) -> list[CheckResult]:
    """Findings of the checks that ran, without repetition."""
    ran = [result for result in section.results if not result.unchecked]
    distinct = {(result.verdict, result.message, result.fix): result for result in reversed(ran)}
    return list(reversed(distinct.values()))


def document(sections: Sequence[SectionResult]) -> CheckReportDocument:
    """The document for `-o json`."""
    return {
        "result": worst(sections).value,
        "complete": not any(section.cut_short for section in sections),
        "checks": [
            {
                "section": section.title,
                "name": row.check,
                "result": row.verdict.value,
                "message": f"not checked: {row.message}" if row.unchecked else row.message,
                "remediation": row.fix,
            }
            for section in sections
            for row in section.results
        ],
    }


def worst(sections: Sequence[SectionResult]) -> Verdict:
    verdicts = {result.verdict for section in sections for result in section.results}
    return next((each for each in reversed(Verdict) if each in verdicts), Verdict.OK)


def _lines(result: CheckResult, how: Layout) -> list[str]:
    line = f"  {_mark(result.verdict, how)} {_shown(result.message, how)}"
    return [line, f"      fix: {_shown(result.fix, how)}"] if result.fix else [line]


def _mark(verdict: Verdict, how: Layout) -> str:
    symbol, ascii_symbol, colour = _MARKS[verdict]
    text = symbol if how.unicode else ascii_symbol
    return color.painted(text, colour if how.coloured else color.PLAIN)


def _shown(text: str, how: Layout) -> str:
    """The text on one line, in ASCII if the terminal supports no more."""
    line = harmless(" ".join(text.split()))
    return line if how.unicode else ascii_only(line)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}" if number else ""
