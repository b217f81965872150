"""The demo's output: a heading per scene, and a line whenever a size changes."""

import sys
from dataclasses import dataclass, field
from typing import Final, TextIO

from dev.demo.samples import JobLook, Look

_COLUMNS: Final = {"mnist-worker": "mnist", "resnet-worker": "resnet", "bert": "bert"}
_BAR: Final = 12
_BOLD, _DIM, _PLAIN = "\033[1m", "\033[2m", "\033[0m"


@dataclass(slots=True)
class Screen:
    """In a pipe each change is a new line; on a terminal it redraws the last line."""

    stream: TextIO = field(default_factory=lambda: sys.stdout)
    _shown: str = ""
    _redraw: bool = False

    @property
    def _live(self) -> bool:
        return self.stream.isatty()

    def scene(self, title: str) -> None:
        self._end_line()
        self._write(f"\n{self._style(_BOLD, '▸ ' + title)}\n")

    def command(self, text: str, output: str = "") -> None:
        """Show a command as a user would type it, with its output."""
        self._end_line()
        self._write(self._style(_DIM, f"  $ {text}") + "\n")
        for line in output.rstrip().splitlines():
            self._write(f"  {line}\n")

    def sizes(self, look: Look) -> None:
        row = _row(look)
        if row == self._shown or not look.jobs:
            return
        self._shown = row
        line = f"  {look.at:5.1f} s  {row}"
        if self._live:
            self._write(("\r\033[K" if self._redraw else "") + line)
            self._redraw = True
        else:
            self._write(line + "\n")

    def verdict(self, lines: list[str]) -> None:
        self._end_line()
        for line in lines:
            self._write(line + "\n")

    def _end_line(self) -> None:
        if self._redraw:
            self._write("\n")
        self._redraw = False

    def _style(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._live else text

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _row(look: Look) -> str:
    cells = [f"{title} {_cell(look.jobs.get(name))}" for name, title in _COLUMNS.items()]
    return "  ".join([*cells, f"web {look.web}/{look.web_wanted}"])


def _cell(job: JobLook | None) -> str:
    if job is None:
        return f"{'—':<{_BAR + 3}}"
    if job.done:
        return f"{'done':<{_BAR + 3}}"
    if job.suspended:
        return f"{'queued':<{_BAR + 3}}"
    scale = _BAR / max(job.max, _BAR)
    running = round(min(job.running, job.size) * scale)
    starting = round(job.size * scale) - running
    return f"{job.size:2} " + f"{'█' * running}{'░' * max(starting, 0)}".ljust(_BAR, "·")
