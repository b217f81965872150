"""Prints runs of contestants with several seeds: a line for each as it ends, then their means."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple, TypeVar

Figures = TypeVar("Figures", bound=NamedTuple)


def print_runs(
    line: Callable[[str, Figures, float], str], runs: Iterable[tuple[str, int, Figures, float]]
) -> None:
    """`runs` are (name, seed, figures, processor seconds); `line` formats the last two."""
    measured: dict[str, list[tuple[Figures, float]]] = {}
    for name, seed, figures, spent in runs:
        print(line(f"{name}, seed {seed}", figures, spent), flush=True)
        measured.setdefault(name, []).append((figures, spent))
    for name, rows in measured.items():
        print(line(f"{name}, mean of {len(rows)}", *mean(rows)))


def mean(rows: Sequence[tuple[Figures, float]]) -> tuple[Figures, float]:
    """The mean of each figure; the figures are named tuples of one type."""
    (first, _), *_ = rows
    found = first._make(map(fmean, zip(*(figures for figures, _ in rows), strict=True)))
    return found, fmean(spent for _, spent in rows)
