"""A discrete-event simulator around the planner: the same `decide`, the same steps, no cluster.

`simulate(world, Elastic(policy)) → Result`; `Plain()` in its place is the cluster without us.
"""

from edl.simulator.cluster.work import (
    CONSTANT,
    ENDLESS,
    LINEAR,
    Amdahl,
    Curve,
    Measured,
    Work,
    length,
)
from edl.simulator.engine import Simulation, simulate
from edl.simulator.from_cluster import from_state
from edl.simulator.job_builder import Kind, Seat, queued
from edl.simulator.results import Outcome, Result, Spread, jain
from edl.simulator.scenario import (
    Change,
    Elastic,
    Manner,
    NodeEvent,
    Plain,
    Service,
    Settings,
    Training,
    Watcher,
    World,
)

__all__ = [
    "CONSTANT",
    "ENDLESS",
    "LINEAR",
    "Amdahl",
    "Change",
    "Curve",
    "Elastic",
    "Kind",
    "Manner",
    "Measured",
    "NodeEvent",
    "Outcome",
    "Plain",
    "Result",
    "Seat",
    "Service",
    "Settings",
    "Simulation",
    "Spread",
    "Training",
    "Watcher",
    "Work",
    "World",
    "from_state",
    "jain",
    "length",
    "queued",
    "simulate",
]
