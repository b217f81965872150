"""Situations in which all pods must be in one domain."""

from typing import Final

from tests.edl.planner.topology.cases import WAITS, Ask, Case

SIX: Final = """
b1/r1: x3=1
b1/r2: x5=1 x1=1 x6=1
b2/r1: x2=1
b2/r2: x4=2
"""
BINARY: Final = """
b1/r1: x3=1 x5=1
b1/r2: x1=1 x6=1
b2/r1: x2=1 x4=1
b2/r2: x7=1 x8=1
"""
ONE_LARGE_RACK: Final = """
b1/r1: x3=2
b1/r2: x5=2
b1/r3: x1=1 x6=1 x2=1 x4=1
"""
HOSTS: Final = "x1|x2|x3|x5|x6"
"""Of SIX, those with room for one pod."""

CASES: Final = (
    Case(
        "a block, then as few racks as can be, then as few hosts",
        ONE_LARGE_RACK,
        (Ask("worker", 4),),
        ("block b1:4", "rack b1-r3:4"),
        required="block",
        preferred="rack,host",
    ),
    Case(
        "a block alone says nothing of its racks",
        ONE_LARGE_RACK,
        (Ask("worker", 4),),
        ("block b1:4",),
        required="block",
        differs="Kueue takes the fewest domains of every level below; ours of the levels named",
        kueue=("block b1:4", "rack b1-r3:4"),
    ),
    Case(
        "the one host that takes all",
        "b1/r1: x3=2 x5=1 x1=1",
        (Ask("worker", 2),),
        ("host x3:2",),
        required="block",
        preferred="host",
    ),
    Case(
        "a block whose hosts take a pod each",
        BINARY,
        (Ask("worker", 4),),
        ("block 4", "rack 2 2", "host #4"),
        required="block",
    ),
    Case(
        "one pod on a host that it fills",
        SIX,
        (Ask("worker", 1),),
        (f"host {HOSTS}:1",),
        required="host",
    ),
    Case(
        "one pod in a rack that it fills",
        SIX,
        (Ask("worker", 1),),
        ("rack b1-r1|b2-r1:1",),
        required="rack",
    ),
    Case(
        "the only rack that takes three",
        SIX,
        (Ask("worker", 3),),
        ("rack b1-r2:3",),
        required="rack",
    ),
    Case(
        "of two racks that take two, the fuller one",
        SIX,
        (Ask("worker", 2),),
        ("rack b2-r2:2",),
        required="rack",
    ),
    Case(
        "no rack takes four",
        SIX,
        (Ask("worker", 4),),
        WAITS,
        required="rack",
        nearest="b1-r2:3",
    ),
    Case(
        "of two blocks that take one pod, the fuller one",
        SIX,
        (Ask("worker", 1),),
        ("block b2:1",),
        required="block",
    ),
    Case(
        "one pod in the fuller block, in a rack that it fills",
        SIX,
        (Ask("worker", 1),),
        ("block b2:1", "rack b2-r1:1"),
        required="block",
        preferred="rack",
    ),
    Case(
        "the only block that takes four, whatever its racks",
        SIX,
        (Ask("worker", 4),),
        ("block b1:4", "rack b1-r1:1 b1-r2:3"),
        required="block",
    ),
    Case(
        "a pod that is too large for every host",
        SIX,
        (Ask("worker", 1, cpu=4),),
        WAITS,
        required="block",
    ),
    Case(
        "no block takes five",
        SIX,
        (Ask("worker", 5),),
        WAITS,
        required="block",
        nearest="b1:4",
    ),
    Case(
        "pods that ask for memory alone: the number of pods that a host takes is what ends",
        "b1/r1: x3=1/0/10\nb1/r2: x5=1/0/10 x1=1/0/10\nb2/r1: x2=1/0/10\nb2/r2: x4=2/0/40",
        (Ask("worker", 4, cpu=0, memory="1Ki"),),
        ("rack b1-r1|b2-r1:4",),
        required="rack",
    ),
    Case(
        "racks of the same name in two blocks",
        "b1: x1=1 x2=1\nb2: x3=1 x4=1",
        (Ask("worker", 3),),
        ("host #3",),
        required="rack",
        nodes={f"x{number}": {"labels": {"example.com/rack": "r1"}} for number in range(1, 5)},
        differs="a domain of ours is a label's value; Kueue's is the path through all levels",
        kueue=WAITS,
    ),
    Case(
        "racks of a long name and its beginning are two",
        "b1/a: x1=1 x2=1\nb1/ab: x3=1",
        (Ask("worker", 3),),
        WAITS,
        required="rack",
        nearest="b1-a:2",
    ),
    Case(
        "one GPU is left on each host, and a pod asks for eight",
        "\n".join(f"b1/r1: x{number}=64/8" for number in range(8)),
        (Ask("worker", 1, cpu=1, gpu=8),),
        WAITS,
        required="host",
        taken=" ".join(f"x{number}=7/7" for number in range(8)),
    ),
    Case(
        "one GPU is left on each host, and a pod asks for one",
        "\n".join(f"b1/r1: x{number}=64/8" for number in range(8)),
        (Ask("worker", 1, cpu=1, gpu=1),),
        ("host #1",),
        required="host",
        taken=" ".join(f"x{number}=7/7" for number in range(8)),
    ),
    Case(
        "a rack that others' gangs have filled is passed over",
        "b1/r1: x1=1\nb1/r2: x2=1\nb2/r1: x3=1\nb2/r2: x4=1",
        (Ask("worker", 1),),
        ("block b2:1",),
        required="rack",
        taken="x1=1 x2=1",
    ),
    Case(
        "pairs on a host each: three hosts with room for three",
        "b1/r1: x3=3 x5=3 x1=3",
        (Ask("worker", 6),),
        ("host #2",),
        required="block",
        preferred="host",
        differs="Kueue's slices keep pairs together; ours has none: hosts are filled",
        kueue=("host x1:2 x3:2 x5:2",),
    ),
    Case(
        "threes in a rack each: three racks with room for two",
        "b1/r1: x3=2\nb1/r2: x5=2\nb1/r3: x1=2",
        (Ask("worker", 6),),
        ("rack 2 2 2",),
        required="block",
        differs="Kueue's slices keep threes together, so that it waits; ours has none",
        kueue=WAITS,
    ),
)
