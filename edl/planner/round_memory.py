"""`RoundMemory`: what a loop of decisions remembers between its rounds."""

from edl.model import ClusterState
from edl.planner.plan import Plan


class RoundMemory:
    """Overrides what it needs; by default each method has no effect."""

    def recall(self, state: ClusterState) -> ClusterState:
        """The state with what is remembered, for the next decision."""
        return state

    def note(self, plan: Plan, state: ClusterState) -> None:
        """Remember what follows from a plan for this state."""

    def forget(self) -> None:
        """Called while another process leads, whose decisions make it outdated."""
