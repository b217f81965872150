from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.experiments.ceiling import IDLE, Others, ceiling, fillings, most_trainers, rooms
from benchmarks.experiments.cluster import (
    BASE,
    KINDS,
    LOAD_CEILING,
    MACHINES,
    MASTER,
    NGINX,
    PSERVER,
    TOTAL_CPU,
    TRAINER,
)


def brute_force(others: Others, nodes: list[int]) -> int | None:
    """Every way to fill every node."""
    found = None
    for ways in product(*(fillings(room) for room in nodes)):
        held = [sum(way.others[place] for way in ways) for place in range(len(others))]
        if all(have >= need for have, need in zip(held, others, strict=True)):
            trainers = sum(way.trainers for way in ways)
            found = trainers if found is None else max(found, trainers)
    return found


@settings(deadline=None, max_examples=50)
@given(
    others=st.builds(Others, st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)),
    nodes=st.lists(st.sampled_from([2_620, 5_500, 8_620, 9_000]), max_size=4),
)
def test_no_way_to_fill_the_nodes_holds_more(others: Others, nodes: list[int]) -> None:
    free = rooms({str(place): room for place, room in enumerate(nodes)})
    most = most_trainers(others, free)
    assert (most if most >= 0 else None) == brute_force(others, nodes)


@pytest.mark.parametrize("room", [room for room, _ in IDLE])
def test_a_filling_never_exceeds_the_room(room: int) -> None:
    for way in fillings(room):
        counts = (way.trainers, *way.others)
        kinds = (TRAINER, PSERVER, NGINX, MASTER)
        assert sum(count * kind.cpu for count, kind in zip(counts, kinds, strict=True)) <= room


def test_memory_is_never_what_a_node_lacks() -> None:
    most = max(kind.memory / kind.cpu for kind in KINDS.values())
    assert all(most * machines.cpu <= machines.memory for machines in MACHINES)


def test_a_node_of_twelve_cores_takes_two_trainers_beside_its_base_load() -> None:
    assert max(way.trainers for way in fillings(12_000 - BASE.cpu)) == 2


def test_what_stands_in_the_way_lowers_the_ceiling() -> None:
    free = rooms({str(number): 12_000 - BASE.cpu - NGINX.cpu for number in range(133)})
    assert most_trainers(Others(0, 0, 0), free) == 133
    assert most_trainers(Others(0, 0, 0)) == 70 * 2 + 63 * 4


def test_the_load_ceiling_holds_where_packing_would_allow_more() -> None:
    free = ((15_000, TOTAL_CPU // 15_000),)
    found = ceiling(Others(0, 0, 0), 10_000, free)
    assert found.trainers < most_trainers(Others(0, 0, 0), free)
    assert LOAD_CEILING - TRAINER.cpu / TOTAL_CPU < found.utilisation <= LOAD_CEILING


def test_a_job_gets_at_most_its_maximum_of_trainers() -> None:
    assert ceiling(Others(0, 0, 0), 7).trainers == 7
