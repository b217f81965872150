"""Pods that wait for a number of peers, such as torchrun's agents, need a min that gives it."""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations, template
from edl.errors import Finding
from edl.frameworks import FRAMEWORKS
from edl.parsing.yaml_values import whole
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_FEWER: Final = "remove {} from the pod template"


def findings(job: Json, spec: JobSpec, fewer: str = _FEWER) -> list[Finding]:
    """A finding if the pods of `job` wait for more peers than the minimum of `spec` gives them.

    `fewer` says how they start with fewer, with {} for the variable.
    """
    variable = FRAMEWORKS[spec.framework].min_peers_env
    low = awaited(job, variable)
    if spec.scaling.min >= low:
        return []
    peers = f"the number of peers that {variable} makes each pod wait for"
    what = f"{spec.scaling.min} is below {low}, {peers}"
    allowed = f"set it to {low} or more, or {fewer.format(variable)}"
    return [Finding(f"metadata.labels[{contract.MIN}]", what, allowed)]


def sizes(job: Json, framework: str) -> tuple[int, int | None]:
    """The fewest and the most pods for which the template of a Job was completed.

    Any number where pods have no ranks: they do not depend on each other.
    """
    most = whole(annotations(job).get(contract.INJECTED_MAX, ""))
    kind = FRAMEWORKS[framework]
    return awaited(job, kind.min_peers_env), most if kind.ranked else None


def awaited(job: Json, variable: str) -> int:
    """How many pods must come together, by `variable` of the pod template; 0 if it is not set."""
    containers = (template(job).get("spec") or {}).get("containers") or ()
    values = (
        str(env.get("value") or "").partition(":")[0]
        for container in containers
        for env in container.get("env") or ()
        if env.get("name") == variable
    )
    return next((number for text in values if (number := whole(text)) is not None), 0)
