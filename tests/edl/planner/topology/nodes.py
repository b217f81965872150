"""Situations of nodes that pods may not use, or that others' pods have filled."""

from typing import Final

from edl.model import Taint, Toleration
from tests.edl.planner.states import room
from tests.edl.planner.topology.cases import WAITS, Ask, Case

GPU: Final = Taint("example.com/gpu", "present", "NoSchedule")
TOLERATES: Final = Toleration("example.com/gpu", "Equal", "present", "")
POOL_A: Final = {"labels": {"pool": "a"}}
POOL_B: Final = {"labels": {"pool": "b"}}
IN_POOL_B: Final = {"node_selector": (("pool", "b"),)}

CASES: Final = (
    Case(
        "no node of the pool",
        ": x3=1",
        (Ask("worker", 1, rules=IN_POOL_B),),
        WAITS,
        required="host",
        nodes={"x3": POOL_A},
    ),
    Case(
        "a node of the pool",
        ": x3=1",
        (Ask("worker", 1, rules=IN_POOL_B),),
        ("host x3:1",),
        required="host",
        nodes={"x3": POOL_B},
    ),
    Case(
        "a node whose label has no value that was asked for, beside one that has",
        ": x3=1 x5=1",
        (Ask("worker", 1, rules=IN_POOL_B),),
        ("host x5:1",),
        required="host",
        nodes={"x3": POOL_A, "x5": POOL_B},
    ),
    Case(
        "a node without the label of the level",
        "b1: x3=1",
        (Ask("worker", 1),),
        WAITS,
        required="rack",
    ),
    Case(
        "a node without a label that nothing asks for",
        "b1/r1: x3=1",
        (Ask("worker", 1),),
        ("rack b1-r1:1",),
        required="rack",
        nodes={"x3": {"labels": {"kubernetes.io/hostname": None}}},
        differs="Kueue leaves out nodes without any level's label; ours reads the levels named",
        kueue=WAITS,
    ),
    Case(
        "others' pods leave too little CPU",
        ": x3=1",
        (Ask("worker", 1, cpu=0.6),),
        WAITS,
        required="host",
        taken="x3=0.6",
    ),
    Case(
        "others' pods leave no CPU",
        ": x3=1/0/10",
        (Ask("worker", 1, cpu=0.1),),
        WAITS,
        required="host",
        taken="x3=1",
    ),
    Case(
        "others' pods leave too little CPU on one of two hosts",
        ": x3=1 x5=1",
        (Ask("worker", 1, cpu=0.6),),
        ("host x5:1",),
        required="host",
        taken="x3=0.6",
    ),
    Case(
        "a pod that terminates holds its host until it is gone",
        ": x3=1",
        (Ask("worker", 1),),
        WAITS,
        required="host",
        taken="x3=1",
        nodes={"x3": {"releasing": room(1)}},
    ),
    Case(
        "the number of pods that a host takes is counted",
        ": x3=1/0/10",
        (Ask("worker", 9, cpu=0),),
        WAITS,
        required="host",
        taken="x3=0/0/2",
        nearest="x3:8",
    ),
    Case(
        "a host takes one pod, and has one",
        ": x3=1/0/1",
        (Ask("worker", 1, cpu=0.3),),
        WAITS,
        required="host",
        taken="x3=0.3",
    ),
    Case(
        "a node that is not ready, or cordoned",
        ": x3=1",
        (Ask("worker", 1),),
        WAITS,
        required="host",
        nodes={"x3": {"cordoned": True}},
    ),
    Case(
        "a rack with a cordoned node",
        "r1: x1=1 x2=1 x3=1\nr2: x4=1 x5=1",
        (Ask("worker", 3),),
        WAITS,
        required="rack",
        levels=("rack",),
        nodes={"x3": {"cordoned": True}},
        nearest="r1|r2:2",
    ),
    Case(
        "a taint that the pods do not tolerate",
        ": x3=1",
        (Ask("worker", 1),),
        WAITS,
        required="host",
        nodes={"x3": {"taints": (GPU,)}},
    ),
    Case(
        "a taint that the pods tolerate",
        ": x3=1",
        (Ask("worker", 1, rules={"tolerations": (TOLERATES,)}),),
        ("host x3:1",),
        required="host",
        nodes={"x3": {"taints": (GPU,)}},
    ),
    Case(
        "four nodes, and each is out for a reason of its own",
        ": x1=1 x2=1 x3=2 x4=0.1",
        (Ask("worker", 1, rules=IN_POOL_B),),
        WAITS,
        required="host",
        nodes={"x1": {"taints": (GPU,), **POOL_B}, "x2": POOL_A, "x3": POOL_A, "x4": POOL_B},
    ),
    Case(
        "too little of two resources",
        ": x1=0.5",
        (Ask("worker", 1, gpu=1),),
        WAITS,
        required="host",
    ),
    Case(
        "another job's pods hold a host of the rack",
        "b1: x1=1 x2=1",
        (Ask("worker", 1),),
        ("host x2:1",),
        required="host",
        taken="x1=1",
    ),
    Case(
        "a tainted rack is no domain, though it takes all",
        "r1: x1=4\nr2: x2=2 x3=2",
        (Ask("worker", 4),),
        ("rack r2:4",),
        required="rack",
        levels=("rack",),
        nodes={"x1": {"taints": (GPU,)}},
    ),
)
