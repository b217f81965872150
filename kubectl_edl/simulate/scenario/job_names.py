"""Unique names for traced jobs: logs repeat names, and the simulator identifies jobs by name."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Final

from msgspec.structs import replace

from edl.simulator import Training
from kubectl_edl.simulate.scenario.manifest_templates import named

_SHOWN: Final = 3
Trainings = tuple[Training, ...]
Hints = tuple[str, ...]


def told_apart(own: Sequence[Training], traced: Sequence[Training]) -> tuple[Trainings, Hints]:
    """All jobs; a traced job whose name is taken is renamed NAME-2, NAME-3 and so on.

    And a hint for traced jobs that were renamed.
    """
    kept = {one.key.name for one in own}
    taken = kept | {one.key.name for one in traced}
    numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(2))
    found, fresh = [*own], []
    for one in traced:
        name = one.key.name
        if name in kept:
            another = (f"{name}-{number}" for number in numbers[name])
            name = next(free for free in another if free not in taken)
            fresh.append(name)
        kept.add(name)
        taken.add(name)
        found.append(_called(one, name))
    return tuple(found), _hints(fresh)


def _called(one: Training, name: str) -> Training:
    if one.key.name == name:
        return one
    return replace(one, job=named(one.job, name, one.job.priority))


def _hints(fresh: Sequence[str]) -> Hints:
    if not fresh:
        return ()
    called = ", ".join(fresh[:_SHOWN]) + ", …" * (len(fresh) > _SHOWN)
    if len(fresh) == 1:
        return (f"hint: 1 job of a trace has a name that is taken: it is called {called}",)
    many = f"{len(fresh)} jobs of traces have names that are taken"
    return (f"hint: {many}: they are called {called}",)
