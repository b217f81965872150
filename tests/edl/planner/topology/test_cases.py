"""Where pods go that ask for a topology: every situation, on nodes in either order."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tests.edl.planner.plans import plan_for
from tests.edl.planner.topology import changes, nodes, preferred, required, roles
from tests.edl.planner.topology.cases import (
    Case,
    agrees,
    decided,
    domains,
    is_consecutive,
    nearest,
    placed,
    state,
)

ALL = [
    *required.CASES,
    *preferred.CASES,
    *roles.CASES,
    *nodes.CASES,
    *changes.CASES,
]
STARTS = [case for case in ALL if case.expect and not any(ask.on for ask in case.asks)]


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def lines(answer: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for quota in answer:
        where, _, expected = quota.partition(" ")
        yield where, expected


def levels(case: Case) -> Iterator[str]:
    """What a role's pods lie in few domains of: ROLE@LEVEL."""
    for ask in case.asks:
        for reclaim_priority in filter(None, (*case.preferred.split(","), case.required)):
            if "=" not in reclaim_priority:
                yield f"{ask.role}@{reclaim_priority}"


@named(ALL)
def test_pods_come_to_the_domains_of_the_case(case: Case) -> None:
    hosts = decided(case)
    if not case.expect:
        assert not any(hosts.values())
        return
    asked = {ask.role: ask.count for ask in case.asks if not ask.on}
    assert asked == {name: len(on) for name, on in hosts.items() if name in asked}
    for where, expected in lines(case.expect):
        found = domains(case, hosts, where)
        assert agrees(expected, found), (where, expected, found)


@named([case for case in ALL if case.nearest])
def test_a_job_that_waits_is_told_of_the_domain_that_comes_nearest(case: Case) -> None:
    found = nearest(plan_for(state(case)))
    domain, _, fitting = case.nearest.rpartition(":")
    name, _, most = found.rpartition(":")
    assert (name in domain.split("|"), most) == (True, fitting), found


@named(ALL)
def test_a_case_that_differs_has_an_answer_of_kueues_own(case: Case) -> None:
    assert bool(case.differs) == (case.kueue != case.expect if case.differs else bool(case.kueue))


@named(STARTS)
def test_neighbours_in_rank_are_in_one_domain(case: Case) -> None:
    hosts = decided(case)
    for where in levels(case):
        assert is_consecutive(domains(case, hosts, where)), (where, hosts)


@named(STARTS)
def test_the_order_of_nodes_does_not_matter(case: Case) -> None:
    found = state(case)
    turned = replace(found, nodes=found.nodes[::-1])
    assert placed(case, turned, plan_for(turned)) == decided(case)
