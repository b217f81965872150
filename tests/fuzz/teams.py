"""Documents of the teams: drawn whole, with odd things in them, and grown on purpose."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final, TypeAlias

from edl import contract
from edl.model.teams import Team, Teams
from edl.parsing.team_document import render_teams
from edl.quantities import Resources
from edl.writes import Json
from tests.fuzz import twists

_LARGE: Final = 256 * 1024
"""Characters of a grown document; half of the most that is read."""
_VALUES: Final = (
    *("", "a", "default", "t1", "'*'", "'a*b*c'", "1e999999999", "-1", "0.5", "64Gi", "9" * 70),
    *("true", "no", "~", "{}", "[]", "[a]", "{a: b}", "&x a", "*x", "!!python/object:os.system a"),
    *("'\U0001f680'", '"\\u0000"', "|\n    a", "{matchLabels: {a: b}}", "replicas", "jobs"),
)
_FIELDS: Final = (
    *("name", "parent", "namespaces", "guaranteed", "limit", "weight", "lend", "reclaim", "other"),
    "<<",
)
_RESOURCES: Final = ("cpu", "memory", "pods", "nvidia.com/gpu", "sharedgpu/gpu_request", "a/b")
Document: TypeAlias = Callable[[Random, int], Iterator[str]]
"""The lines of so many teams."""


def config_map(random: Random, document: str) -> Json:
    """Mostly as administrators write it."""
    body: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": contract.TEAMS_CONFIG_MAP, "namespace": contract.SYSTEM_NAMESPACE},
        "data": {contract.TEAMS_KEY: document},
    }
    if random.random() < 0.1:
        twists.odd(random, body)
    return body


def drawn(random: Random) -> str:
    """A document that is read, and after some twists perhaps not."""
    names = [f"t{number}" for number in range(random.choice((0, 1, 3, 12)))]
    teams = [_team(random, name, names[:at]) for at, name in enumerate(names)]
    lines = render_teams(Teams.of(teams)).splitlines()
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        random.choice((_replaced, _replaced, _added, _doubled, _shifted))(random, lines)
    return "\n".join(lines)


def grown(random: Random) -> str:
    """Large, each of one thing; some are right."""
    lines = random.choice(_GROWN)(random, random.choice((100, 1_000, 1_999, 100_000)))
    found, left = ["teams:"], _LARGE
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        found.append(line)
    return "\n".join(found)


def _team(random: Random, name: str, above: list[str]) -> Team:
    amounts = {one: random.choice((1, 8, 1000)) for one in random.sample(_RESOURCES[:4], 2)}
    return Team(
        name,
        parent=random.choice(["", *above]),
        namespaces=random.choice(((), (f"{name}-*",), (name, f"{name}x"))),
        guaranteed=Resources.of(amounts) if random.random() < 0.5 else Resources(),
        weight=random.choice((1.0, 0.5, 7.0)),
        lend=random.random() < 0.8,
    )


def _replaced(random: Random, lines: list[str]) -> None:
    """The value of a field."""
    at = random.randrange(len(lines))
    lines[at] = f"{lines[at].partition(':')[0]}: {random.choice(_VALUES)}"


def _added(random: Random, lines: list[str]) -> None:
    line = f"  {random.choice(_FIELDS)}: {random.choice(_VALUES)}"
    lines.insert(random.randrange(len(lines) + 1), line)


def _doubled(random: Random, lines: list[str]) -> None:
    at = random.randrange(len(lines))
    lines[at:at] = lines[at:]


def _shifted(random: Random, lines: list[str]) -> None:
    at = random.randrange(len(lines))
    lines[at] = random.choice(("  ", "\t", "- ", "? ", "# ")) + lines[at]


def _named(random: Random, count: int) -> Iterator[str]:
    """Of parents that are there, that are not, in circles, and in deep trees."""
    parent = random.choice(("t{last}", "t{next}", "x{own}", "t{pair}", "t0"))
    for own in range(count):
        near = parent.format(last=own - 1, next=own + 1, own=own, pair=own ^ 1)
        top = own % random.choice((8, 31, 500)) == 0
        yield f"- name: t{own}" if top else f"- {{name: t{own}, parent: {near}}}"


def _owed(random: Random, count: int) -> Iterator[str]:
    """Few resources or many, of each team its own, in flat and deep trees, above and below sums."""
    each, shared = random.choice((1, 8, 60)), random.random() < 0.5
    field, depth = random.choice(("guaranteed", "guaranteed", "limit")), random.choice((1, 2, 30))
    yield from (
        f"- {{name: p{at}" + (f", parent: p{at - 1}" if at else "") + ", guaranteed: {a/0: 1}}"
        for at in range(depth)
    )
    for own in range(count):
        owed = ", ".join(f"a/{at if shared else f'{own}-{at}'}: 1" for at in range(each))
        yield f"- {{name: t{own}, parent: p{depth - 1}, {field}: {{{owed}}}}}"


def _of_namespaces(random: Random, count: int) -> Iterator[str]:
    form = random.choice(("n{own}-{at}", "'*{own}*{at}*'", "a", "A{at}"))
    each = random.choice((1, 30, 900))
    for own in range(count):
        names = ", ".join(form.format(own=own, at=at) for at in range(each))
        yield f"- {{name: t{own}, namespaces: [{names}]}}"


def _selecting(random: Random, count: int) -> Iterator[str]:
    each = random.choice((1, 5, 200))
    for own in range(count):
        one = "key: k{}, operator: In, values: [a, b]"
        terms = ", ".join(f"{{{one.format(at)}}}" for at in range(each))
        yield f"- {{name: t{own}, namespaces: {{matchExpressions: [{terms}]}}}}"


def _plain(random: Random, count: int) -> Iterator[str]:
    """No team at all, over and over."""
    return iter([random.choice(("- a", "- {}", "- [a, a]", "- ''", "- {name: a}"))] * count)


_GROWN: Final[tuple[Document, ...]] = (
    _named,
    _named,
    _owed,
    _owed,
    _of_namespaces,
    _selecting,
    _plain,
)
