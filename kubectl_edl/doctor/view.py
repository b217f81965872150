"""The output of `kubectl edl doctor`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kubectl_edl.cli.context import CliContext
from kubectl_edl.cli.options import OutputOptions
from kubectl_edl.cli.watch_report import layout, show
from kubectl_edl.doctor.checks.check import Diagnosis, Examined, Verdict
from kubectl_edl.output import color
from kubectl_edl.output.documents.field_kinds import API_VERSION
from kubectl_edl.output.report import Report
from kubectl_edl.output.safe_text import ascii_only, harmless
from kubectl_edl.output.table import Layout

if TYPE_CHECKING:
    from kubectl_edl.output.documents.cluster_documents import CheckReportDocument

_MARKS: Final[Mapping[Verdict, tuple[str, str, str]]] = {
    Verdict.OK: ("✓", "ok  ", color.GOOD),
    Verdict.WARNING: ("!", "WARN", color.WAITS),
    Verdict.FAILURE: ("✗", "FAIL", color.BAD),
}
"""Symbol, the same in ASCII, and colour."""
CUT_SHORT: Final = "Remaining checks skipped: they depend on this one."


def print_each(
    world: CliContext, reading: OutputOptions, examined: Iterable[Examined]
) -> list[Examined]:
    """Print each section when it is done, then the summary."""
    sections: list[Examined] = []
    how = layout(world, reading)
    for section in examined:
        world.out.write(("\n" if sections else "") + section_text(section, how))
        world.out.flush()
        sections.append(section)
    world.say(f"\n{summary(sections)}")
    return sections


def print_all(
    world: CliContext, reading: OutputOptions, examined: Iterable[Examined]
) -> list[Examined]:
    """Print one document for other programs."""
    sections = list(examined)
    report = Report(sections=(), objects=(document(sections),), names=())
    show(world, reading, lambda: report)
    return sections


def section_text(examined: Examined, how: Layout) -> str:
    """The title, and a line per finding; a fix has a line of its own, to be copied."""
    lines = [examined.title, *(line for one in _distinct(examined) for line in _lines(one, how))]
    if examined.cut_short:
        lines += ["", CUT_SHORT]
    return "".join(f"{line}\n" for line in lines)


def summary(sections: Sequence[Examined]) -> str:
    """The last line, with the numbers of findings."""
    counts = Counter(one.verdict for section in sections for one in _distinct(section))
    well = counts[Verdict.OK]
    bad = [_count(counts[Verdict.FAILURE], "failure"), _count(counts[Verdict.WARNING], "warning")]
    if not any(bad):
        return f"All checks passed: {_count(well, 'check')}."
    rest = f", {_count(well, 'check')} {'is' if well == 1 else 'are'} well" if well else ""
    return f"{' and '.join(filter(None, bad))}{rest}."


def _distinct(examined: Examined) -> list[Diagnosis]:
    """Findings without repetition: several checks may report the same missing right."""
    found = {(one.verdict, one.says, one.fix): one for one in reversed(examined.found)}
    return list(reversed(found.values()))


def document(sections: Sequence[Examined]) -> "CheckReportDocument":
    """The document for `-o json`."""
    return {
        "apiVersion": API_VERSION,
        "kind": "CheckReport",
        "result": worst(sections).value,
        "complete": not any(section.cut_short for section in sections),
        "checks": [
            {
                "section": section.title,
                "name": one.check,
                "result": one.verdict.value,
                "message": one.says,
                "remediation": one.fix,
            }
            for section in sections
            for one in section.found
        ],
    }


def worst(sections: Sequence[Examined]) -> Verdict:
    found = {one.verdict for section in sections for one in section.found}
    return next((each for each in reversed(Verdict) if each in found), Verdict.OK)


def is_ill(sections: Sequence[Examined]) -> bool:
    return worst(sections) is Verdict.FAILURE


def _lines(one: Diagnosis, how: Layout) -> list[str]:
    line = f"  {_mark(one.verdict, how)} {_shown(one.says, how)}"
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
