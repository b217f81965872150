"""A discrete-event simulator around the planner: the same `decide`, the same steps, no cluster.

`simulate(scenario, Elastic(policy)) → Result`; with `Plain()` the cluster runs without kubectl-edl.
"""

from edl.simulator.cluster.work_and_speedup import (
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
from edl.simulator.job_builder import Workload, WorkloadRole, queued
from edl.simulator.results import JobResult, Result, RoleResult, Summary
from edl.simulator.scenario import (
    Change,
    ControlMode,
    Elastic,
    NodeEvent,
    Plain,
    Scenario,
    Service,
    SimulatedNodePool,
    Timing,
    Training,
    Watcher,
)
from edl.simulator.scenario_from_cluster import from_state
