"""Situations in which pods should be in few domains and start in any case."""

from typing import Final

from tests.edl.planner.topology.cases import ANYWHERE, WAITS, Ask, Case
from tests.edl.planner.topology.required import SIX

UNASKED: Final = "without an annotation ours packs as ever, Kueue takes the hosts with least room"
BALANCED: Final = "Kueue's balanced placement (off by default) shares pods out evenly; ours fills"
SCATTERED: Final = """
b1/r1: x3=4 x5=1 x1=1
b2/r1: x6=2 x2=1
"""
LARGE: Final = tuple(
    (zone, block, rack)
    for zone in range(2)
    for block in range(2 * zone, 2 * zone + 2)
    for rack in range(2 * block, 2 * block + 2)
)
"""Eight racks of 18 hosts with two GPUs each."""
CASES: Final = (
    Case(
        "the roomiest block, and the fullest one that takes the rest",
        "b1: x1=2\nb2: x2=1\nb3: x3=4",
        (Ask("worker", 5),),
        ("block b3:4 b2:1",),
        preferred="block",
    ),
    Case(
        "no rack takes all, one block does",
        SIX,
        (Ask("worker", 4),),
        ("block b1:4", "rack b1-r2:3 b1-r1:1"),
        preferred="block,rack",
    ),
    Case(
        "no rack takes all, and blocks are not named",
        SIX,
        (Ask("worker", 4),),
        ("rack #2",),
        preferred="rack",
        differs="Kueue looks at the levels above of its own accord; ours at the levels named",
        kueue=("block b1:4", "rack b1-r2:3 b1-r1:1"),
    ),
    Case(
        "no block takes all",
        SIX,
        (Ask("worker", 6),),
        ("block b1:4 b2:2", "rack b1-r2:3 b1-r1:1 b2-r2:2"),
        preferred="block,rack",
    ),
    Case(
        "no block takes all, and racks are not named",
        SIX,
        (Ask("worker", 6),),
        ("block b1:4 b2:2",),
        preferred="block",
        differs="Kueue takes the fewest domains of every level below; ours of the levels named",
        kueue=("block b1:4 b2:2", "rack b1-r2:3 b1-r1:1 b2-r2:2"),
    ),
    Case("the cluster does not take all", SIX, (Ask("worker", 10),), WAITS, preferred="block"),
    Case(
        "nothing asked: six pods on hosts of two blocks",
        SCATTERED,
        (Ask("worker", 6),),
        ANYWHERE,
        differs=UNASKED,
        kueue=("host x1:1 x3:1 x5:1 x2:1 x6:2",),
    ),
    Case(
        "a rack that takes all is one rack of one block",
        SCATTERED,
        (Ask("worker", 6),),
        ("rack b1-r1:6", "host x3:4 x1:1 x5:1"),
        preferred="block,rack,host",
    ),
    Case(
        "of blocks with the same room, the one of a single rack",
        "b1/r1: x1=15\nb1/r2: x2=15\nb2/r3: x3=15 x4=15",
        (Ask("worker", 25),),
        ("block b2:25", "rack b2-r3:25", "host #2"),
        preferred="block,rack,host",
    ),
    Case(
        "a rack that takes all is better than a fuller block of two",
        "b1/r1: x1=2\nb1/r2: x2=2\nb2/r3: x3=5",
        (Ask("worker", 4),),
        ("rack b2-r3:4",),
        preferred="block,rack",
    ),
    Case(
        "two blocks, and of the racks of both the roomiest ones",
        "b1/r1: x1=20\nb1/r2: x2=10\nb1/r3: x3=6\nb1/r4: x4=4\nb2/r5: x5=16\nb2/r6: x6=14",
        (Ask("worker", 48),),
        ("block #2", "rack b1-r1:20 b2-r5:16 b2-r6:12"),
        preferred="block,rack",
    ),
    Case(
        "of two racks with the same room for the rest, the one with fewer hosts",
        "b1/r1: x1=4 x2=3 x3=1\nb1/r2: x4=3 x5=3\nb1/r3: x6=6",
        (Ask("worker", 9),),
        ("rack #2", "host x6:6 x2:3"),
        preferred="block,rack,host",
    ),
    Case(
        "two hosts in two racks with room for fifteen each",
        "b1/r1: x1=15\nb1/r2: x2=15",
        (Ask("worker", 25),),
        ("host 15 10",),
        preferred="rack,host",
        differs=BALANCED,
        kueue=("host 13 12",),
    ),
    Case(
        "the roomiest host, and the fullest one that takes the rest",
        "b1/r1: x1=15 x2=13 x3=10",
        (Ask("worker", 23),),
        ("host x1:15 x3:8",),
        preferred="rack,host",
        differs=BALANCED,
        kueue=("host x1:12 x2:11",),
    ),
    Case(
        "fives that fill two hosts",
        "b1/r1: x1=20 x2=15 x3=10",
        (Ask("worker", 25),),
        ("host #2",),
        preferred="rack,host",
        differs=BALANCED,
        kueue=("host x2:15 x3:10",),
    ),
    Case(
        "two racks with the same room",
        "b1/r1: x1=20 x2=10\nb2/r2: x3=15 x4=15",
        (Ask("worker", 22),),
        ("rack 22", "host #2"),
        preferred="rack,host",
        differs=BALANCED,
        kueue=("host x3:11 x4:11",),
    ),
    Case(
        "the roomiest hosts of two racks are no rack",
        "b1/r1: x1=14 x2=11\nb2/r2: x3=15 x4=10",
        (Ask("worker", 25),),
        ("rack 25", "host #2"),
        preferred="rack,host",
    ),
    Case(
        "a rack of large and small hosts is better than two racks of equal ones",
        "b1/r1: x1=5 x2=5\nb1/r2: x3=5 x4=5\n"
        "b2/r3: x5=10 x6=4 x7=4 x8=4\nb2/r4: x9=5\nb2/r5: x10=5",
        (Ask("worker", 20),),
        ("rack b2-r3:20",),
        preferred="block,rack",
        differs=BALANCED,
        kueue=("rack b1-r1:10 b1-r2:10",),
    ),
    Case(
        "of two racks that it fills, the one with fewer hosts, which is the first",
        "b1/r1: x1=10 x2=5\nb1/r2: x3=5 x4=5 x5=5",
        (Ask("worker", 15),),
        ("host x1:10 x2:5",),
        preferred="rack,host",
        differs=BALANCED,
        kueue=("host x3:5 x4:5 x5:5",),
    ),
    Case(
        "of two racks that it fills, the one with fewer hosts, which is the second",
        "b1/r1: x1=8 x2=8 x3=8\nb1/r2: x4=16 x5=8",
        (Ask("worker", 24),),
        ("host x4:16 x5:8",),
        preferred="rack,host",
        differs=BALANCED,
        kueue=("host x1:8 x2:8 x3:8",),
    ),
    Case(
        "of two racks that take all, the fuller one",
        "r1: x1=21 x2=9\nr2: x3=11 x4=10 x5=10",
        (Ask("worker", 23),),
        ("rack r1:23", "host 21 2"),
        preferred="rack,host",
        levels=("rack",),
        differs=BALANCED,
        kueue=("host x1:12 x3:11",),
    ),
    Case(
        "four levels: of two parts of a block that take all, the fuller one",
        "b/s1/r1: x1=18\nb/s1/r2: x2=8\nb/s2/r3: x3=15\nb/s2/r4: x4=9 x5=7",
        (Ask("worker", 20),),
        ("part b-s1:20", "rack #2", "host #2"),
        preferred="part,rack,host",
        levels=("block", "part", "rack"),
        differs=BALANCED,
        kueue=("host x3:10 x4:8 x5:2",),
    ),
    Case(
        "six racks of eight: 96 pods of two GPUs",
        "\n".join(
            f"d/z{zone}/b{block}/r{rack}: " + " ".join(f"r{rack}-{host}=8/2" for host in range(18))
            for zone, block, rack in LARGE
        ),
        (Ask("worker", 96, cpu=1, gpu=2),),
        ("zone #2", "rack #6"),
        preferred="zone,block,rack",
        levels=("dc", "zone", "block", "rack"),
        differs="Kueue's slices put 48 into each zone and 16 into each rack; ours has none",
        kueue=("zone 48 48", "rack 16 16 16 16 16 16"),
    ),
    Case(
        "five pods on hosts of two and one",
        ": x1=2 x2=1 x3=2 x4=1",
        (Ask("worker", 5),),
        ("host 2 2 1",),
        preferred="host",
    ),
    Case(
        "two hosts, of which a preferred node affinity names the second",
        ": x1=1 x2=1",
        (Ask("worker", 1),),
        ("host x1|x2:1",),
        preferred="host",
        differs="the planner weighs required node affinity alone; in Kueue both are a gate's",
        kueue=("host x2:1",),
    ),
    Case(
        "nodes without the label are used where nothing else takes all",
        "b1: x1=2\n: x2=2",
        (Ask("worker", 3),),
        ("host x1:2 x2:1",),
        preferred="block",
        differs="Kueue leaves nodes without a level's label out; ours never waits for a preference",
        kueue=WAITS,
    ),
)
