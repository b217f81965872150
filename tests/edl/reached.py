"""How often the draws of a law reach what it asserts: a law that looks at nothing is none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, given, settings

LEAST: Final = 0.4
EXAMPLES: Final = 300
_LOOSE: Final = [
    HealthCheck.function_scoped_fixture,  # it counts over all draws
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
]


@dataclass
class Reached:
    """Called once a draw with whether it reached the assertion."""

    draws: int = 0
    hits: int = 0

    def __call__(self, hit: object) -> None:
        self.draws += 1
        self.hits += bool(hit)

    @property
    def part(self) -> float:
        return self.hits / self.draws if self.draws else 0.0


Law = Callable[..., None]


def drawn(
    examples: int = EXAMPLES,
    **strategies: Any,  # noqa: ANN401 - of any type
) -> Callable[[Law], Law]:
    """A law over these strategies, which may ask for the fixture `reached`."""

    def of(found: Law) -> Law:
        made: Law = given(**strategies)(found)
        return settings(max_examples=examples, deadline=None, suppress_health_check=_LOOSE)(made)

    return of
