"""Situations of jobs that run: they grow, or a pod comes in the place of one that was lost."""

from typing import Final

from tests.edl.planner.topology.cases import Ask, Case

OUT: Final = {"cordoned": True}
RACKS: Final = """
b1/r1: x1=1 x2=1
b1/r2: x3=1 x4=1 x5=2
"""

CASES: Final = (
    Case(
        "growth leaves running pods where they are and takes one more host",
        ": x1=2 x2=2 x3=2",
        (Ask("worker", 2, most=4, on="x1 x1"),),
        ("host x1:2 x2|x3:2",),
        preferred="host",
    ),
    Case(
        "growth on the hosts that it has",
        ": x1=2 x2=2 x3=2",
        (Ask("worker", 2, most=4, on="x1 x2"),),
        ("host x1:2 x2:2",),
        preferred="host",
        differs="Kueue counts the hosts of the new pods alone; ours those of all pods",
        kueue=("host x1:1 x2:1 x3:2",),
    ),
    Case(
        "growth beside a leader that stays",
        ": x1=2 x2=1 x3=2",
        (Ask("leader", 1, on="x2"), Ask("worker", 2, most=4, on="x1 x1")),
        ("leader@host x2:1", "worker@host x1:2 x3:2"),
        preferred="host",
    ),
    Case(
        "no growth out of a required rack",
        "b1/r1: x1=1 x2=1\nb1/r2: x3=8",
        (Ask("worker", 2, most=6, on="x1 x2"),),
        ("rack b1-r1:2",),
        required="rack",
    ),
    Case(
        "growth within a required rack, as far as it goes",
        "b1/r1: x1=2 x2=1\nb1/r2: x3=8",
        (Ask("worker", 2, most=6, on="x1 x2"),),
        ("rack b1-r1:3",),
        required="rack",
    ),
    Case(
        "growth of one role out of the rack of another",
        "b1/r1: x1=2\nb1/r2: x3=8",
        (Ask("ps", 1, on="x1"), Ask("worker", 1, most=3, on="x1")),
        ("ps@rack b1-r1:1", "worker@rack b1-r1:1 b1-r2:2"),
        required="ps=rack",
    ),
    Case(
        "growth that begins another rack begins the one with room for all of it",
        "b1/r1: x1=2\nb1/r2: x2=1\nb1/r3: x3=2 x4=1\nb2/r4: x5=4 x6=4",
        (Ask("worker", 2, most=4, on="x1 x1"),),
        ("rack b1-r1:2 b1-r3:2",),
        preferred="block,rack",
    ),
    Case(
        "growth that begins another block begins the one that it fits best",
        "b1/r1: x1=2\nb2/r2: x2=1\nb3/r3: x3=2\nb3/r4: x4=2 x5=1\nb4/r5: x6=9 x7=9",
        (Ask("worker", 2, most=5, on="x1 x1"),),
        ("block b1:2 b3:3", "rack b1-r1:2 b3-r4:3"),
        preferred="block,rack",
    ),
    Case(
        "a lost pod comes back in the required block",
        RACKS,
        (Ask("worker", 4, on="x1 x2 -x3 x4"),),
        ("host x1:1 x2:1 x5:1 x4:1",),
        required="block",
        nodes={"x3": OUT},
    ),
    Case(
        "a lost pod does not come back outside of the required rack",
        "b1/a: x1=1 x2=1\nb1/ab: x3=1",
        (Ask("worker", 2, on="-x1 x2"),),
        ("host x2:1",),
        required="rack",
        nodes={"x1": OUT},
    ),
    Case(
        "a lost pod waits for room in the required rack",
        "b1/r1: x1=1 x2=1 x4=0.5\nb1/r2: x3=8",
        (Ask("worker", 2, on="-x1 x2"),),
        ("host x2:1",),
        required="rack",
        nodes={"x1": OUT},
    ),
    Case(
        "the only pod of a job may come back on any host",
        ": x1=1 x2=1",
        (Ask("worker", 1, on="-x1"),),
        ("host x2:1",),
        required="host",
        nodes={"x1": OUT},
    ),
    Case(
        "a lost pod comes back in the rack of its peers, though another has more room",
        "r1: x1=1 x2=1 x3=2\nr2: x4=8",
        (Ask("worker", 3, on="x1 -x2 x3"),),
        ("host x1:1 x3:2",),
        preferred="rack,host",
        levels=("rack",),
        nodes={"x2": OUT},
    ),
    Case(
        "a lost pod comes back elsewhere where the preferred rack is full",
        "r1: x1=1 x2=1\nr2: x4=8",
        (Ask("worker", 2, on="x1 -x2"),),
        ("host x1:1 x4:1",),
        preferred="rack",
        levels=("rack",),
        nodes={"x2": OUT},
    ),
)
