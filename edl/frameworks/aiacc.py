"""AIACC: as Horovod, with the paths that its images know."""

from typing import Final

from msgspec.structs import replace

from edl.frameworks import horovod
from edl.frameworks.base import Framework

FRAMEWORK: Final[Framework] = replace(horovod.FRAMEWORK, name="aiacc")
