"""PaddlePaddle: v1's cloud variables, and today's collective, parameter server and elastic modes."""

from typing import Final

from edl.frameworks.needs import Framework, Mode, Needs, RoleKind
from edl.model import Resizing
from edl.spec import JobSpec

_MASTER: Final = "master"
_PSERVER: Final = "pserver"
_TRAINER: Final = "trainer"


def describe(spec: JobSpec) -> Needs:  # noqa: ARG001
    return Needs()


FRAMEWORK: Final = Framework(
    name="paddle",
    roles=(
        RoleKind(_MASTER, single=True, serves=True),
        RoleKind(_PSERVER, serves=True),
        RoleKind(_TRAINER, resizable=True),
    ),
    worker=_TRAINER,
    deciders=(_TRAINER,),
    modes=(
        Mode("ps", Resizing.RESTART, role=_PSERVER, needed=(_PSERVER, _TRAINER)),
        Mode("elastic", Resizing.LIVE, role=_MASTER, needed=(_MASTER, _TRAINER)),
        Mode("collective", Resizing.RESTART, roles=(_TRAINER,)),
        Mode("cloud", Resizing.LIVE, role=_PSERVER, needed=(_PSERVER, _TRAINER), asked=True),
    ),
    describe=describe,
    port=7164,
)
