"""MXNet: parameter servers and workers that a scheduler brings together, told by DMLC_*.

dist and its workers cannot take a new size while they run: every resize is a restart of all.
"""

from typing import Final

from edl.frameworks.needs import Framework, Mode, Needs, RoleKind
from edl.model import Resizing
from edl.spec import JobSpec

_SCHEDULER: Final = "scheduler"
_SERVER: Final = "server"
_WORKER: Final = "worker"
_DIST: Final = (_SCHEDULER, _SERVER, _WORKER)
_TUNE: Final = ("tuner-tracker", "tuner-server", "tuner")


def describe(spec: JobSpec) -> Needs:  # noqa: ARG001
    return Needs()


FRAMEWORK: Final = Framework(
    name="mxnet",
    roles=(
        RoleKind(_SCHEDULER, single=True),
        RoleKind(_SERVER, serves=True),
        RoleKind(_WORKER, resizable=True),
        RoleKind("tuner-tracker", single=True, serves=True),
        RoleKind("tuner-server", serves=True),
        RoleKind("tuner", single=True),
    ),
    worker=_WORKER,
    deciders=(_SCHEDULER, "tuner", _WORKER),
    modes=(
        Mode("dist", Resizing.RESTART, role=_SCHEDULER, needed=_DIST, roles=_DIST),
        Mode("tune", Resizing.FIXED, role="tuner", needed=_TUNE, roles=_TUNE),
        Mode("local", Resizing.FIXED, roles=(_WORKER,), single=(_WORKER,)),
        Mode("fork", Resizing.LIVE, role=_SCHEDULER, needed=_DIST, roles=_DIST, asked=True),
    ),
    describe=describe,
    port=9091,
)
