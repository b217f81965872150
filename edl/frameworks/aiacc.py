"""AIACC: the same as Horovod, whose paths its images use."""

from typing import Final

from msgspec.structs import replace

from edl.frameworks import horovod
from edl.frameworks.base import Framework

FRAMEWORK: Final[Framework] = replace(horovod.FRAMEWORK, name="aiacc")
