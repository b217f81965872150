"""The table of stalls that a run prints: how long training stood still at each resize."""

from dataclasses import dataclass, field


@dataclass
class Stalls:
    """Rows of framework, what happened, and the longest time without a step (seconds)."""

    rows: list[tuple[str, str, float]] = field(default_factory=list)

    def add(self, framework: str, event: str, seconds: float) -> None:
        self.rows.append((framework, event, seconds))

    def __str__(self) -> str:
        return "\n".join(
            f"{framework:<12} {event:<32} {seconds:7.1f} s"
            for framework, event, seconds in self.rows
        )
