"""Variables that are too long: they name every host, and Linux starts no program with them."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from edl import addresses, contract
from edl.errors import Denied, Finding
from edl.frameworks import FRAMEWORKS
from edl.frameworks.needs import Needs
from edl.spec import JobSpec

_LONGEST: Final = 131_072
"""Of `NAME=value`, the final 0 included (MAX_ARG_STRLEN)."""
_REFERENCE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def check(spec: JobSpec, needs: Needs) -> None:
    """Raises Denied where no container could start at `max`."""
    findings = [
        Finding(
            f"metadata.labels[{contract.MAX}]",
            f"{name} would name so many hosts that it has {len(value)} characters",
            f"below {_LONGEST}: a smaller max, or shorter names",
        )
        for name, value in _longest(spec, needs)
        if len(name) + len(value) + 2 > _LONGEST
    ]
    if findings:
        raise Denied(findings)


def _longest(spec: JobSpec, needs: Needs) -> Iterator[tuple[str, str]]:
    """The variables as a container would see them after a start at max."""
    told = _told(spec) if any(env.annotation for env in needs.env) else {}
    values: dict[str, str] = {}
    for env in needs.env:
        text = told.get(env.annotation, env.value)
        # The kubelet expands what stands before it, and leaves the rest as it is.
        values[env.name] = _REFERENCE.sub(lambda found: values.get(found[1], found[0]), text)
        yield env.name, values[env.name]


def _told(spec: JobSpec) -> Mapping[str, str]:
    """The pod annotations that a start at max writes."""
    at_start = FRAMEWORKS[spec.framework].at_start
    return at_start(addresses.members(spec)) if at_start else {}
