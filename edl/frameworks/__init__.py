"""The frameworks, in the order in which messages list them."""

from collections.abc import Mapping
from typing import Final

from edl.frameworks import aiacc, horovod, mxnet, none, paddle, pytorch, tensorflow
from edl.frameworks.needs import Framework
from edl.spec import JobSpec

FRAMEWORKS: Final[Mapping[str, Framework]] = {
    module.FRAMEWORK.name: module.FRAMEWORK
    for module in (tensorflow, mxnet, horovod, aiacc, paddle, pytorch, none)
}


def decides(spec: JobSpec) -> bool:
    """Whether this role's end is the training job's end."""
    return FRAMEWORKS[spec.framework].decider([seat.role for seat in spec.cast]) == spec.role


def serves(spec: JobSpec) -> bool:
    """Whether this role never ends by itself."""
    return FRAMEWORKS[spec.framework].kinds[spec.role].serves
