"""What one look at the cluster found, before anybody chose how it is shown."""

from dataclasses import dataclass
from datetime import datetime

from edl.model import ClusterState, TrainingJob
from kubectl_edl.deciding import Deciding
from kubectl_edl.screens.queue import Waiting


@dataclass(frozen=True, slots=True)
class Seen:
    """`jobs` and `waiting` of the namespace that is shown; `state` is the whole cluster.

    `state` and `deciding` are None for who may not read all of it: then nothing can be simulated.
    """

    at: datetime
    jobs: tuple[TrainingJob, ...]
    waiting: tuple[Waiting, ...] = ()
    state: ClusterState | None = None
    deciding: Deciding | None = None
    hints: tuple[str, ...] = ()
