"""Situations of several roles: leaders and workers, and roles with a topology of their own."""

from typing import Final

from tests.edl.planner.topology.cases import WAITS, Ask, Case

TWO_SMALL_HOSTS: Final = """
b1/small: used=2.8 free=2.8
b1/large: large=6
"""
FILLED: Final = "used=2.5"
TENS: Final = """
b1/r1: x3=10/0/10
b1/r2: x5=10/0/10 x1=10/0/10 x6=10/0/10
b2/r1: x2=10/0/10
b2/r2: x4=20/0/40
"""
EIGHT_GPUS: Final = "\n".join(f"r1: x{number}=64/8" for number in range(8))
SEVEN_USED: Final = " ".join(f"x{number}=7/7" for number in range(7))
OWN: Final = "roles of ours share a domain unless they name their own; Kueue's only in a group"

CASES: Final = (
    Case(
        "the block that takes the leader and its workers",
        "b1: x1=2/2\nb2: x2=5/4\nb3: x3=2/2",
        (Ask("leader", 1), Ask("worker", 4, gpu=1)),
        ("block b2:5", "leader@block b2:1", "worker@block b2:4"),
        required="block",
    ),
    Case(
        "the leader leaves to the workers the hosts that they fill",
        "r1: x1=2 x2=4 x3=3",
        (Ask("leader", 1), Ask("worker", 4, cpu=2)),
        ("leader@host x3:1", "worker@host x1:1 x2:2 x3:1"),
        required="rack",
        levels=("rack",),
    ),
    Case(
        "the leader leaves to the workers the hosts that they fill, in few hosts",
        ": x1=8 x2=3",
        (Ask("leader", 1), Ask("worker", 5, cpu=2)),
        ("leader@host x2:1", "worker@host x1:4 x2:1"),
        preferred="host",
    ),
    Case(
        "nothing asked: a host for the leader alone and one for the worker alone",
        ": x1=1 x2=0/1",
        (Ask("leader", 1), Ask("worker", 1, cpu=0, gpu=1)),
        ("leader@host x1:1", "worker@host x2:1"),
    ),
    Case(
        "one rack, a host for the leader alone and one for the worker alone",
        "r1: x1=1 x2=0/1",
        (Ask("leader", 1), Ask("worker", 1, cpu=0, gpu=1)),
        ("leader@host x1:1", "worker@host x2:1"),
        required="rack",
        levels=("rack",),
    ),
    Case(
        "the workers alone would fit into no smaller block",
        "b1: x1=2/2\nb2: x2=8/8\nb3: x3=2/2",
        (Ask("leader", 1), Ask("worker", 4, gpu=2)),
        ("block b2:5",),
        required="block",
    ),
    Case(
        "a rack that takes the worker, and not the leader with it",
        TWO_SMALL_HOSTS,
        (Ask("leader", 1, cpu=2.5), Ask("worker", 1, cpu=2.5)),
        ("rack b1-large:2",),
        required="rack",
        taken=FILLED,
    ),
    Case(
        "a rack that takes the small workers, and not the leader with them",
        TWO_SMALL_HOSTS,
        (Ask("leader", 1, cpu=2.5), Ask("worker", 2, cpu=0.5)),
        ("rack b1-large:3",),
        required="rack",
        taken=FILLED,
    ),
    Case(
        "a fuller rack that takes the leader and the worker",
        TWO_SMALL_HOSTS,
        (Ask("leader", 1), Ask("worker", 1)),
        ("rack b1-small:2", "host free:2"),
        required="rack",
        taken=FILLED,
    ),
    Case(
        "no block takes the workers and the leader",
        "b1: x1=1\nb2: x2=4/4",
        (Ask("leader", 1), Ask("worker", 4, gpu=1)),
        WAITS,
        required="block",
        nearest="b2:4",
    ),
    Case(
        "of two blocks that take the workers, the one that takes the leader too",
        "b1: x1=11/8\nb2: x2=4/4",
        (Ask("leader", 1), Ask("worker", 4, gpu=1)),
        ("block b1:5",),
        required="block",
    ),
    Case(
        "a leader that no host takes",
        "b1: x1=4/4\nb2: x2=4/4",
        (Ask("leader", 1, cpu=10), Ask("worker", 4, gpu=1)),
        WAITS,
        required="block",
    ),
    Case(
        "a leader and workers on a host each",
        "b1/r1: x3=2/1 x5=2/1 x1=2/1\nb2/r4: x6=1/1\nb2/r5: x2=2/1\nb2/r6: x4=2/1",
        (Ask("leader", 1, cpu=2), Ask("worker", 2, gpu=1)),
        ("block b1|b2:3", "host #3"),
        required="block",
    ),
    Case(
        "a leader and workers in one block, and in as few racks as can be",
        "b1/r1: x3=1/1 x5=1/1\nb1/r2: x1=1/1 x6=1/1\nb2/r3: x2=1/1 x4=1/1\nb2/r4: x7=1/1 x8=1/1",
        (Ask("leader", 1, gpu=1), Ask("worker", 2, gpu=1)),
        ("block 3", "rack 2 1"),
        required="block",
        preferred="rack",
    ),
    Case(
        "a rack for each of two roles, which need not be the same",
        TENS,
        (Ask("first", 2), Ask("second", 1, cpu=0, memory="1Ki")),
        ("first@rack b1-r1|b2-r1:2", "second@rack 1"),
        required="first=rack,second=rack",
    ),
    Case(
        "a block for one role, nothing for the other",
        TENS,
        (Ask("first", 8), Ask("second", 2)),
        ("first@block b2:8", "second@host"),
        required="first=block",
    ),
    Case(
        "two roles in few blocks: the second fills what the first has begun",
        "b1: x1=2\nb2: x2=2\nb3: x3=2",
        (Ask("first", 3), Ask("second", 3)),
        ("block 2 2 2", "first@block 2 1", "second@block 1 2"),
        preferred="block",
    ),
    Case(
        "of two zones that take the leader and the workers, the fuller one",
        "z1/r1: x1=10\nz2/r2: x2=6",
        (Ask("leader", 1), Ask("worker", 5)),
        ("zone z2:6",),
        required="zone",
        levels=("zone", "rack"),
    ),
    Case(
        "a leader that fits only outside of the zone of its workers",
        "west: x1=8/8 x2=8/8\neast: x3=32",
        (Ask("leader", 1, cpu=16, memory="64Gi"), Ask("worker", 2, cpu=4, gpu=8, memory="32Gi")),
        ("leader@zone east:1", "worker@zone west:2"),
        preferred="zone",
        levels=("zone",),
    ),
    Case(
        "a large leader and its workers in one block, which has one host for it",
        "b1/r1: x1=3\nb1/r2: x2=3\nb1/r3: x3=8\nb2/r1: x4=11",
        (Ask("leader", 1, cpu=5), Ask("worker", 7)),
        ("block b1:8", "leader@host x3:1"),
        preferred="block",
    ),
    Case(
        "a leader among workers that fill two hosts",
        "b1/r1: x1=6 x2=5",
        (Ask("leader", 1), Ask("worker", 10)),
        ("rack b1-r1:11", "host x1:6 x2:5"),
        preferred="rack",
    ),
    Case(
        "a host for each of two roles: one of eight GPUs, one of the last GPU of another",
        EIGHT_GPUS,
        (Ask("large", 1, gpu=8), Ask("small", 1, gpu=1)),
        ("large@host x7:1", "small@host x0|x1|x2|x3|x4|x5|x6:1"),
        required="large=host,small=host",
        levels=("rack",),
        taken=SEVEN_USED,
    ),
    Case(
        "one host for both of two roles",
        EIGHT_GPUS,
        (Ask("large", 1, gpu=8), Ask("small", 1, gpu=1)),
        WAITS,
        required="host",
        levels=("rack",),
        taken=SEVEN_USED,
        nearest="x7:1",
        differs=OWN,
        kueue=("large@host x7:1", "small@host x0|x1|x2|x3|x4|x5|x6:1"),
    ),
    Case(
        "a host for each of two roles, and only one has such a host",
        EIGHT_GPUS,
        (Ask("large", 1, gpu=8), Ask("small", 1, gpu=7)),
        WAITS,
        required="large=host,small=host",
        levels=("rack",),
        taken=SEVEN_USED,
    ),
    Case(
        "a host has room for one pod, and two roles ask for it",
        ": x1=2/0/1",
        (Ask("first", 1), Ask("second", 1)),
        WAITS,
        required="host",
        nearest="x1:1",
    ),
    Case(
        "the second role's selector names no node",
        ": x1=4 x2=4",
        (Ask("first", 1), Ask("second", 1, rules={"node_selector": (("pool", "none"),)})),
        WAITS,
        required="first=host",
    ),
)
