"""Where a training job is in its life."""

from enum import StrEnum


class Phase(StrEnum):
    """A training job's phase, as users watch it."""

    INCOMPLETE = "Incomplete"
    QUEUED = "Queued"
    STARTING = "Starting"
    RUNNING = "Running"
    SCALING = "Scaling"
    PAUSED = "Paused"
    FINISHING = "Finishing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
