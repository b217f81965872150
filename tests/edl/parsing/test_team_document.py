"""A document of teams is read as a whole, or refused with everything that is wrong in it."""

import sys
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl.errors import Denied
from edl.model import Reclaim, Requirement, Team, Teams
from edl.parsing.team_document import (
    MAX_PATTERNS,
    MAX_RESOURCES,
    MAX_TEAMS,
    parse_teams,
    render_teams,
)
from edl.parsing.team_fields import is_resource
from edl.quantities import CPU, SHARED_GPU, Resources

GPU = "nvidia.com/gpu"
WHOLE = """
teams:
- name: research
  guaranteed: {nvidia.com/gpu: 40, cpu: 400}
- name: vision
  parent: research            # optional
  namespaces: [vision-prod, "vision-*"]
  guaranteed: {nvidia.com/gpu: 32, cpu: 250500m, sharedgpu/gpu_request: 2.5}
  limit: {nvidia.com/gpu: 64, deviceclass.resource.kubernetes.io/gpu.example.com: 0}
  weight: 2
  lend: false
  reclaim: jobs
- name: speech
  parent: research
  namespaces:
    matchLabels: {team: speech}
    matchExpressions: [{key: tier, operator: NotIn, values: [test]}]
"""


def test_every_field_is_read() -> None:
    teams = parse_teams(WHOLE)
    assert [team.name for team in teams] == ["default", "research", "speech", "vision"]
    assert teams["vision"] == Team(
        "vision",
        parent="research",
        namespaces=("vision-*", "vision-prod"),
        guaranteed=Resources.of({GPU: 32, CPU: 250_500, SHARED_GPU: 2500}),
        limit=(("deviceclass.resource.kubernetes.io/gpu.example.com", 0), (GPU, 64)),
        weight=2.0,
        lend=False,
        reclaim=Reclaim.JOBS,
    )
    assert teams["speech"].selector == (
        Requirement("team", "In", ("speech",)),
        Requirement("tier", "NotIn", ("test",)),
    )
    assert teams.path("vision") == ("vision", "research")
    assert teams.children["research"] == ("speech", "vision")
    assert teams.guaranteed["research"] == Resources.of({GPU: 40, CPU: 400_000, SHARED_GPU: 2500})


@pytest.mark.parametrize("text", ["", "teams:", "teams: []", "{}"])
def test_no_teams_are_none(text: str) -> None:
    assert parse_teams(text) == Teams()
    assert not parse_teams(text)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("[]", ["the document: is a list; `teams:` and a list"]),
        ("team: []", ["team: unknown field; teams"]),
        ("teams: {}", ["teams: is a mapping; a list"]),
        ("teams: [a]", ['teams[0]: "a"; the fields of a team']),
        (
            "teams: [{nmae: a}]",
            [
                "teams[0].nmae: unknown field; one of name, parent,",
                "teams[0].name: is empty; a name of a-z, 0-9 and -",
            ],
        ),
        (
            "teams: [{name: A, weight: 0, lend: maybe, reclaim: all, namespaces: [B, {}]}]",
            [
                'teams[0].name: "A"; a name',
                'teams[0].namespaces[0]: "B"; the name of a namespace',
                "teams[0].namespaces[1]: is a mapping",
                'teams[0].weight: "0"; a number above 0',
                'teams[0].lend: "maybe"; true or false',
                'teams[0].reclaim: "all"; one of jobs, replicas',
            ],
        ),
        (
            "teams: [{name: a, guaranteed: {big.example.com: 4}}]",
            [
                (
                    "teams[0] (a).guaranteed[big.example.com]: unknown resource; cpu, memory, "
                    "sharedgpu/gpu_request, an extended resource such as nvidia.com/gpu, or "
                    "deviceclass.resource.kubernetes.io/NAME for a DeviceClass"
                ),
            ],
        ),
        (
            "teams: [{name: a, guaranteed: {gpu: 1, cpu: x, memory: -1, x.y/b: 1.5, x.y/c: 2Ei}}]",
            [
                "teams[0] (a).guaranteed[gpu]: unknown resource; cpu, memory, sharedgpu/",
                'teams[0] (a).guaranteed[cpu]: "x" is not a quantity',
                'teams[0] (a).guaranteed[memory]: "-1"; from 0 to 1Ei',
                'teams[0] (a).guaranteed[x.y/b]: "1.5"; a whole number',
                'teams[0] (a).guaranteed[x.y/c]: "2Ei"; from 0 to 1Ei',
            ],
        ),
        (
            "teams: [{name: a, namespaces: {}}, {name: b, namespaces: {matchLabels: {'-': x}}}]",
            [
                "teams[0] (a).namespaces: it would select each one",
                "teams[1] (b).namespaces.matchLabels[-]: is not a label",
            ],
        ),
        (
            "teams: [{name: a, namespaces: {matchExpressions: [{key: k, operator: In}]}}]",
            ["teams[0] (a).namespaces.matchExpressions[0].values: they do not go with In"],
        ),
        (
            "teams: [{name: a, namespaces: [x]}, {name: a, namespaces: [y], parent: z}]",
            [
                'teams[1] (a).name: "a" is the name of teams[0], too; each name once',
                'teams[1] (a).parent: no parent is named "z"; leave it out',
            ],
        ),
        (
            "teams: [{name: a, namespaces: [x-*]}, {name: b, namespaces: [x-*]}]",
            ['teams[1] (b).namespaces: "x-*" is of the team "a", too; a namespace has one team'],
        ),
        (
            "teams: [{name: a, parent: b}, {name: b, parent: c}, {name: c, parent: b}]",
            ["a circle: b → c → b; leave one of them out"],
        ),
        (
            "teams: [{name: default, guaranteed: {cpu: 1}}]",
            ["teams[0] (default).guaranteed: the default team gets all remaining namespaces"],
        ),
        (
            "teams: [{name: a, guaranteed: {cpu: 4}, limit: {cpu: 2500m}}]",
            ["teams[0] (a).limit[cpu]: 2.5 CPU, and 4 CPU are guaranteed; raise the limit"],
        ),
    ],
)
def test_everything_wrong_is_said_with_its_path(text: str, messages: list[str]) -> None:
    with pytest.raises(Denied) as error:
        parse_teams(text)
    found = [str(one) for one in error.value.findings]
    assert all(any(message in one for one in found) for message in messages), found


def test_findings_of_fields_names_circles_and_sums_are_reported_at_once() -> None:
    text = """
teams:
- {name: all, guaranteed: {cpu: 8}, weight: heavy}
- {name: a, parent: all, guaranteed: {cpu: 9, memory: x}, namespaces: [prod]}
- {name: b, parent: none, namespaces: [prod], limit: {pods: 1}, guaranteed: {pods: 2}}
- {name: a, guaranteed: {cpu: 100}}
- {name: c, parent: d, guaranteed: {cpu: 4}}
- {name: d, parent: c, guaranteed: {cpu: 1}}
"""
    with pytest.raises(Denied) as error:
        parse_teams(text)
    assert sorted({one.path for one in error.value.findings}) == [
        "teams[0] (all).guaranteed[cpu]",
        "teams[0] (all).weight",
        "teams[1] (a).guaranteed[memory]",
        "teams[2] (b).limit[pods]",
        "teams[2] (b).namespaces",
        "teams[2] (b).parent",
        "teams[3] (a).name",
        "teams[4] (c).parent",
        "teams[5] (d).parent",
    ]


@pytest.mark.parametrize("entry", ["text", "{name: Wrong}"])
def test_a_parent_that_may_be_an_unreadable_team_adds_nothing(entry: str) -> None:
    with pytest.raises(Denied) as error:
        parse_teams(f"teams: [{entry}, {{name: a, parent: above}}, {{name: b, limit: {{gpu: 1}}}}]")
    (first, second) = error.value.findings
    assert first.path.startswith("teams[0]")
    assert second.path == "teams[2] (b).limit[gpu]"


def test_guarantees_above_the_parents_are_refused_with_the_sums() -> None:
    text = """
teams:
- {name: all, guaranteed: {nvidia.com/gpu: 32}}
- {name: a, parent: all, guaranteed: {nvidia.com/gpu: 20}}
- {name: b, parent: all}
- {name: c, parent: b, guaranteed: {nvidia.com/gpu: 16}}
"""
    with pytest.raises(Denied) as error:
        parse_teams(text)
    assert str(error.value) == (
        "teams[0] (all).guaranteed[nvidia.com/gpu]: 32 nvidia.com/gpu, and the teams below it are "
        "guaranteed 36 nvidia.com/gpu: a 20, b 16; raise it to 36, or lower theirs"
    )


def test_a_limit_holds_what_the_teams_below_are_guaranteed() -> None:
    text = """
teams:
- {name: all, limit: {nvidia.com/gpu: 32}}
- {name: a, parent: all, guaranteed: {nvidia.com/gpu: 33}}
"""
    with pytest.raises(Denied, match=r"33 nvidia[.]com/gpu are guaranteed"):
        parse_teams(text)


def chain(levels: int) -> str:
    named = [{"name": "t0"}, *({"name": f"t{n}", "parent": f"t{n - 1}"} for n in range(1, levels))]
    return str({"teams": named})


def test_work_is_bounded() -> None:
    assert len(parse_teams(chain(32))) == 33
    with pytest.raises(Denied, match="at most 32 levels"):
        parse_teams(chain(40))
    with pytest.raises(Denied, match=f"at most {MAX_TEAMS}"):
        parse_teams("teams: [" + ", ".join("{name: a}" for _ in range(MAX_TEAMS + 1)) + "]")
    with pytest.raises(Denied) as error:
        parse_teams("teams: [" + "1, " * 50_000 + "]")
    assert len(error.value.findings) <= 100


def test_resources_are_bounded_in_all() -> None:
    """Each level of teams sums up what all teams below it are guaranteed."""
    owed = [f"{{name: t{at}, guaranteed: {{a/r{at}: 1}}}}" for at in range(MAX_RESOURCES)]
    assert parse_teams(f"teams: [{', '.join(owed)}]")
    with pytest.raises(Denied) as refused:
        parse_teams(f"teams: [{', '.join(owed)}, {{name: more, limit: {{a/more: 1}}}}]")
    (finding,) = refused.value.findings
    assert str(finding).startswith(
        f"teams[{MAX_RESOURCES}] (more).limit: with these, teams name more"
    )


def test_patterns_are_bounded_in_all() -> None:
    patterns = [f"n{number:05}-*" for number in range(MAX_PATTERNS)]
    teams = [
        f"{{name: t{at}, namespaces: [{', '.join(patterns[at : at + 500])}]}}"
        for at in range(0, MAX_PATTERNS, 500)
    ]
    assert parse_teams(f"teams: [{', '.join(teams)}]")
    more = [*teams, "{name: named, namespaces: [plain]}", "{name: more, namespaces: [more-*]}"]
    with pytest.raises(Denied) as refused:
        parse_teams(f"teams: [{', '.join(more)}]")
    (finding,) = refused.value.findings
    assert finding.path == "teams[5] (more).namespaces"
    assert f"at most {MAX_PATTERNS} in all" in str(finding)


names = st.from_regex(r"[a-z]([-a-z0-9]{0,5}[a-z0-9])?", fullmatch=True)
patterns = st.from_regex(r"[-a-z0-9*]{1,8}", fullmatch=True)
amounts = st.integers(0, 2**50)
resources = st.dictionaries(
    st.sampled_from([GPU, CPU, SHARED_GPU, "memory", "hugepages-2Mi"]), amounts, max_size=3
)


@st.composite
def trees(draw: st.DrawFn) -> Teams:
    found: list[Team] = []
    taken: set[str] = set()
    for name in draw(st.lists(names, unique=True, max_size=6)):
        if name == "default":
            continue
        parent = draw(st.sampled_from(["", *(team.name for team in found)]))
        chosen = (
            draw(st.sets(st.from_regex(r"[-a-z0-9*]{1,8}", fullmatch=True), max_size=3)) - taken
        )
        taken |= chosen
        fields: dict[str, Any] = {"namespaces": tuple(sorted(chosen))}
        if draw(st.booleans()):
            key = Requirement(f"k{len(found)}", "In", (draw(names),))
            others = (Requirement("z", "Exists", ()), Requirement("z", "In", ("1", "null")))
            fields = {"selector": (key, *draw(st.sampled_from([(), others[:1], others])))}
        owed = {} if parent else draw(resources)
        most = {name: owed.get(name, 0) + more for name, more in draw(resources).items()}
        found.append(
            Team(
                name,
                parent,
                guaranteed=Resources.of(owed),
                limit=tuple(sorted(most.items())),
                weight=draw(st.integers(1, 10**9 - 1)) / 1000,
                lend=draw(st.booleans()),
                reclaim=draw(st.sampled_from(Reclaim)),
                **fields,
            )
        )
    if draw(st.booleans()):
        found.append(Team("default", weight=draw(st.sampled_from([1.0, 0.5]))))
    return Teams.of(found)


@pytest.mark.slow
@given(trees())
def test_what_is_rendered_is_read_as_it_was(teams: Teams) -> None:
    assert parse_teams(render_teams(teams)) == teams


@given(st.text(max_size=200) | st.text("teams: [{}]name\n- &*!,", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(Denied):
        assert isinstance(parse_teams(text), Teams)


def test_a_resource_name_that_is_too_long_is_refused_and_not_kept() -> None:
    name = "example.com/" + "x" * 2**20
    references = sys.getrefcount(name)
    assert not is_resource(name)
    assert sys.getrefcount(name) == references
