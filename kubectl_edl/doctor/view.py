"""The output of `kubectl edl doctor`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
        cli.out.write(("\n" if sections else "") + section_text(section, how))
        cli.out.flush()
        sections.append(section)
    cli.say("")
    cli.say(summary(sections))
    return worst(sections) is Verdict.FAILURE


def section_text(results: SectionResult, how: Layout) -> str:
    """The title, and a line per finding; a fix has a line of its own."""
    lines = [results.title, *(line for one in _distinct(results) for line in _lines(one, how))]
    if results.cut_short:
        lines += ["", CUT_SHORT]
    return "".join(f"{line}\n" for line in lines)


def summary(sections: Sequence[SectionResult]) -> str:
    """The last line, with the numbers of findings."""
    counts = Counter(one.verdict for section in sections for one in _distinct(section))
    passed = counts[Verdict.OK]
    bad = [_count(counts[Verdict.FAILURE], "failure"), _count(counts[Verdict.WARNING], "warning")]
    if not any(bad):
        return f"All checks passed: {_count(passed, 'check')}."
    rest = f", {_count(passed, 'check')} passed" if passed else ""
    return f"{' and '.join(filter(None, bad))}{rest}."


def _distinct(results: SectionResult) -> list[CheckResult]:
    """Findings without repetition: several checks may report the same missing right."""
    found = {(one.verdict, one.message, one.fix): one for one in reversed(results.found)}
    return list(reversed(found.values()))


def document(sections: Sequence[SectionResult]) -> CheckReportDocument:
    """The document for `-o json`."""
    return {
        "result": worst(sections).value,
        "complete": not any(section.cut_short for section in sections),
        "checks": [
            {
                "section": section.title,
                "name": one.check,
                "result": one.verdict.value,
                "message": one.message,
                "remediation": one.fix,
            }
            for section in sections
            for one in section.found
        ],
    }


def worst(sections: Sequence[SectionResult]) -> Verdict:
    found = {one.verdict for section in sections for one in section.found}
    return next((each for each in reversed(Verdict) if each in found), Verdict.OK)


def _lines(one: CheckResult, how: Layout) -> list[str]:
    line = f"  {_mark(one.verdict, how)} {_shown(one.message, how)}"
    return [line, f"      fix: {_shown(one.fix, how)}"] if one.fix else [line]


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
