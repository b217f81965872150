"""Warnings for programs whose launcher, or lack of one, does not suit what kubectl-edl writes.

What an image starts without a command is unknown here, and so is what a script of its own runs.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from edl import contract
from edl.contract.manifest_parts import (
    annotations,
    command_line,
    pod_of,
    template,
    training_container,
)
from edl.frameworks import FRAMEWORKS, mode_of
from edl.frameworks.base import Framework, Needs
from edl.inject import peer_counts
from edl.inject.pods import gpus
from edl.spec.container_resources import other_devices
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_STANDALONE: Final = re.compile(r"--standalone\b")
_STATIC: Final = re.compile(r"--rdzv[_-]backend[=\s]+[\"']?static\b")


def warnings(manifest: Json, spec: JobSpec, needs: Needs) -> Iterator[str]:
    framework, pod = FRAMEWORKS[spec.framework], pod_of(manifest).get("spec") or {}
    if manifest.get("kind") != "Pod":
        yield from _of_end(manifest, spec, needs)
        yield from _of_peers(manifest, spec, framework)
    yield from _of_meeting(pod, spec, framework)
    yield from _of_gpus(pod, spec, framework)
    yield from _of_rendezvous(pod, spec, framework)
    yield from _of_slots(manifest, spec, framework)


def _of_end(job: Json, spec: JobSpec, needs: Needs) -> Iterator[str]:
    """Workers that may not end together, where the first that ends is the end of all."""
    framework, container = FRAMEWORKS[spec.framework], training_container(template(job))
    decides = needs.any_decides and spec.scaling.min < spec.scaling.max
    if not decides or job["spec"].get("successPolicy") or not container.get("command"):
        return
    if not framework.launches(command_line(container)):
        launcher = framework.launchers[0]
        yield (
            f"{contract.MAX}: the first {spec.role} that exits with 0 completes the training, "
            f"because those of {launcher} end together: if it does not start this program, write "
            'successPolicy: {rules: [{succeededIndexes: "0"}]}, or '
            f"{contract.MIN} and {contract.MAX} alike"
        )


def _of_peers(job: Json, spec: JobSpec, framework: Framework) -> Iterator[str]:
    """Numbers of the user's own that leave pods waiting, or out of the training."""
    yield from map(str, peer_counts.option_findings(job, spec))
    option, variable = peer_counts.options(job, framework), peer_counts.told(job, framework)
    _, most, source = option if option.source else variable
    mode = mode_of(spec)
    if mode and source and source not in mode.rendezvous_env and most < spec.scaling.max:
        yield (
            f"{source}: at most {most} of {spec.scaling.max} × {spec.role} train together, and the "
            "others hold their resources idle: remove it from the pod template"
        )


def _of_meeting(pod: Json, spec: JobSpec, framework: Framework) -> Iterator[str]:
    """Options with which launchers do not meet, or not at any size but the largest."""
    low, high = spec.scaling.min, spec.scaling.max
    launched = [command_line(container) for container in _launched(pod, framework)]
    for name, option, alone in (
        ("--standalone", _STANDALONE, high == 1),
        ("--rdzv_backend=static", _STATIC, low == high),
    ):
        if not alone and any(map(option.search, launched)):
            yield (
                f"{name}: each {spec.role} trains alone, or waits for peers that it never meets: "
                "remove it from the pod template"
            )


def _of_gpus(pod: Json, spec: JobSpec, framework: Framework) -> Iterator[str]:
    """Several GPUs in a pod whose program may use one."""
    mode = mode_of(spec)
    count = gpus.whole_gpus(pod, spec.resources.gpu)
    if mode and mode.one_gpu and count > 1 and not any(_launched(pod, framework)):
        launcher = framework.launchers[0]
        yield (
            f"{contract.GPU}: a program that {launcher} does not start uses one of the {count} "
            f"GPUs of its pod: start it by python3 -m {launcher}, or ask for 1 and for {count} "
            "times as many pods"
        )


def _of_rendezvous(pod: Json, spec: JobSpec, framework: Framework) -> Iterator[str]:
    """Variables of the user's own, which a container keeps, where launchers need ours."""
    mode = mode_of(spec)
    if not mode:
        return
    for container in _launched(pod, framework):
        variables = {entry.get("name") for entry in container.get("env") or ()}
        if hidden := [name for name in mode.rendezvous_env if name in variables]:
            yield (
                f"env {', '.join(hidden)}: with other values than kubectl-edl's, "
                f"{framework.launchers[0]} does not meet its peers: leave out what sets them"
            )


def _of_slots(manifest: Json, spec: JobSpec, framework: Framework) -> Iterator[str]:
    """Several devices that may be GPUs, and one process, in pods with one for each slot."""
    pod = pod_of(manifest).get("spec") or {}
    several = [f"{most} {name}" for name, most in other_devices(pod).items() if most > 1]
    given = contract.SLOTS in annotations(manifest) or spec.resources.accelerated
    if several and not given and _has_processes(spec, framework) and not _is_told(pod):
        yield (
            f"{contract.SLOTS}: one process starts in each pod, and has {', '.join(several)}: if "
            "these are GPUs, set the annotation to the number of processes"
        )


def _has_processes(spec: JobSpec, framework: Framework) -> bool:
    """Whether the number of slots makes a difference to the pods of the training job."""
    if spec.role == framework.publishes:
        return True  # in its host list
    more = replace(spec, resources=replace(spec.resources, slots=spec.resources.slots + 1))
    return framework.describe(more) != framework.describe(spec)


def _is_told(pod: Json) -> bool:
    """Whether the user gives the number of processes to the launcher."""
    return any(
        "nproc" in command_line(container)
        or any("NPROC" in str(entry.get("name")) for entry in container.get("env") or ())
        for container in pod.get("containers") or ()
    )


def _launched(pod: Json, framework: Framework) -> Iterator[Json]:
    """The containers that run one of the framework's launchers."""
    for container in pod.get("containers") or ():
        if framework.launches(command_line(container)):
            yield container
