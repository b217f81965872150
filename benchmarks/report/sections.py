"""The sections of README.md here: each is between two marks, and can be replaced alone.

The template `prose/NAME.md` beside this file has a section's title and prose; in it `$figures` is
the output of the section's script, `$told` its command, its time and the machine's load.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

PROSE: Final = Path(__file__).parent / "prose"
_BLOCK: Final = "<!-- {0} -->\n{1}\n<!-- end of {0} -->"
_MARKED: Final = re.compile(
    r"^<!-- (\w+) -->\n(.*?)\n<!-- end of \1 -->$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Section:
    """A script, `python -m benchmarks.MODULE`, and its options."""

    name: str
    module: str
    options: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return ("-m", f"benchmarks.{self.module}", *self.options)

    @property
    def command(self) -> str:
        return " ".join(("python", *self.words))


SECTIONS: Final = (
    Section("decide", "planner.decide", ("--plot", "benchmarks/decide.png")),
    Section("release", "control_plane.release", ("--runs", "5")),
    Section("topology", "scheduling.topology"),
    Section("startup", "control_plane.startup"),
    Section("state", "planner.state"),
    Section("optimality", "planner.optimality"),
    Section("estimates", "planner.estimates"),
    Section("simulate", "planner.simulate"),
    Section("reviews", "webhook.reviews"),
    Section("holding", "webhook.idle_connections"),
    Section("failover", "control_plane.failover", ("--runs", "5")),
    Section("rotation", "webhook.rotation"),
    Section("latency", "control_plane.latency"),
    Section("placement", "scheduling.placement"),
    Section("fits", "scheduling.fits"),
    Section("teams", "scheduling.teams"),
    Section("autoscaled", "scheduling.autoscaled", ("--seeds", "2")),
    Section("autoscaled_simulated", "scheduling.autoscaled.simulated"),
)


@dataclass(frozen=True, slots=True)
class Told:
    """The circumstances of a section's figures; `loads` before and after the measurement."""

    command: str
    date: str
    commit: str
    machine: str
    loads: tuple[float, float]

    def __str__(self) -> str:
        before, after = self.loads
        return (
            f"`{self.command}` on {self.date} UTC, commit `{self.commit}`; load average "
            f"{before:.1f} before, {after:.1f} after. {self.machine}."
        )


def asked(names: Sequence[str]) -> list[Section]:
    """All sections, or those of these names. Raises ValueError for an unknown name."""
    known = [section.name for section in SECTIONS]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"no section {', '.join(unknown)}; there are {', '.join(known)}")
    return [section for section in SECTIONS if not names or section.name in names]


def body(name: str, told: object, figures: str) -> str:
    """The text of one section, from its template."""
    template = Template((PROSE / f"{name}.md").read_text())
    return template.substitute(told=told, figures=f"```\n{figures.rstrip()}\n```").rstrip()


def read(text: str) -> dict[str, str]:
    """The sections of a document, by their names."""
    return dict(_MARKED.findall(text))


def document(bodies: Mapping[str, str]) -> str:
    """The whole document; sections that were never measured are left out."""
    return "\n\n".join([(PROSE / "head.md").read_text().rstrip(), *_blocks(bodies)]) + "\n"


def _blocks(bodies: Mapping[str, str]) -> Iterator[str]:
    for section in SECTIONS:
        if section.name in bodies:
            yield _BLOCK.format(section.name, bodies[section.name])
