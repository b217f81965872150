"""What one look at the cluster found, before anybody chose how it is shown."""

from datetime import datetime

import msgspec

from edl.model import ClusterState, TrainingJob
from kubectl_edl.client.reconciler_settings import Deciding
from kubectl_edl.queue.view import WaitingJob


class Seen(msgspec.Struct, frozen=True):
    """`jobs` and `waiting` of the namespace that is shown; `state` is the whole cluster.

    `state` and `deciding` are None for who may not read all of it: then nothing can be simulated.
    """

    at: datetime
    jobs: tuple[TrainingJob, ...]
    waiting: tuple[WaitingJob, ...] = ()
    state: ClusterState | None = None
    deciding: Deciding | None = None
    hints: tuple[str, ...] = ()
