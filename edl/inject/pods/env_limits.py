"""Refuses variables that are too long for Linux, each by itself, or for etcd, all together.

The pods of a job have the addresses of all of its pods: together their size is quadratic.

And host lists that are too long for the annotations of the pod that reads them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from edl import contract
from edl.errors import Denied, Finding, refuse
from edl.frameworks import FRAMEWORKS, mode_of
from edl.frameworks.base import Needs
from edl.spec import addresses
from edl.spec.job_spec import JobSpec
from edl.writes import Json

MAX_CONTAINERS: Final = 1_000
"""Containers per pod: each gets all variables, however short it is in the manifest."""
_LARGEST: Final = 1_572_864
"""Bytes of the largest object that etcd stores by default (--max-request-bytes)."""
MAX_WRITTEN_CHARACTERS: Final = 128 * 1024**2
"""Characters of what is written into all pods of a training job at max: etcd has 2 GiB by default,
which all users share (--quota-backend-bytes), and keeps earlier versions for some minutes."""
MAX_HOST_LIST_CHARACTERS: Final = 224 * 1024
"""Characters of all host lists on one pod: its annotations may have 256 KiB, also with others."""
_BESIDE_HOST: Final = 19
"""Characters beside a host in all lists, which are `HOST:8`, `HOST slots=8` and `HOST`, with slots
of four digits."""
_REFERENCE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def check(pod: Json, spec: JobSpec, needs: Needs) -> None:
    """Raises Denied if no container could start at `max`, or if etcd could not store the pod."""
    containers = _check_containers(pod, needs)
    too_long = tuple(_variables(spec, needs))
    refuse([*(too_long or _written(spec, needs, containers)), *_host_lists(spec)])


def _written(spec: JobSpec, needs: Needs, containers: int) -> Iterator[Finding]:
    """The finding that the variables of all roles are too long together.

    Roles may have different ones: in some modes only servers know all workers. Other roles are
    assumed to have as many containers.
    """
    describe = FRAMEWORKS[spec.framework].describe
    others = [bounds for bounds in spec.all_roles if bounds.role != spec.role]
    own_pods = sum(bounds.max for bounds in spec.all_roles if bounds.role == spec.role)
    written = own_pods * _characters(spec, needs, containers)
    for bounds in others:
        other = msgspec.structs.replace(spec, role=bounds.role)
        written += bounds.max * _characters(other, describe(other), containers)
    if written > MAX_WRITTEN_CHARACTERS:
        pods = own_pods + sum(bounds.max for bounds in others)
        total, most = written // 1024**2, MAX_WRITTEN_CHARACTERS // 1024**2
        each = written // pods
        what = f"{pods} pods with {each} characters of addresses each are {total} MiB in etcd"
        allowed = f"at most {most} MiB: a smaller max, or shorter names"
        yield Finding(f"metadata.labels[{contract.MAX}]", what, allowed)


def _characters(spec: JobSpec, needs: Needs, containers: int) -> int:
    """Characters of the variables of one pod, and of the annotations from which they come."""
    texts = _start_annotations(spec) if any(env.annotation for env in needs.env) else {}
    return sum(map(len, texts.values())) + containers * sum(len(env.value) for env in needs.env)


def _variables(spec: JobSpec, needs: Needs) -> Iterator[Finding]:
    for name, value in _longest(spec, needs):
        if len(name) + len(value) + 2 > addresses.LONGEST_VARIABLE:
            what = f"the list of hosts in {name} would have {len(value)} characters"
            yield addresses.too_many_hosts(what)


def _host_lists(spec: JobSpec) -> Iterator[Finding]:
    """The finding that launchers could not be given the hosts of all workers at max."""
    framework, counts = FRAMEWORKS[spec.framework], {one.role: one.max for one in spec.all_roles}
    mode = mode_of(spec)
    listed = framework.publishes or (mode.newcomers if mode else "")
    if listed not in counts:
        return
    lists = 2 if framework.publishes else 3
    hosts = addresses.length(spec, {listed: counts[listed]})
    characters = lists * hosts + _BESIDE_HOST * counts[listed]
    if characters > MAX_HOST_LIST_CHARACTERS:
        what = f"the lists of hosts on the leader's pod would have {characters} characters"
        yield addresses.too_many_hosts(what, MAX_HOST_LIST_CHARACTERS)


def _check_containers(pod: Json, needs: Needs) -> int:
    """Bounds the size of all containers' variables together, before the variables are written.

    Returns the number of containers.
    """
    fields = ("containers", "initContainers")
    names = [container.get("name") for field in fields for container in pod.get(field) or ()]
    ours = [contract.KUBECTL_CONTAINER, *([needs.companion.name] if needs.companion else ())]
    # A completed pod has our containers once; a hostile one may repeat their names.
    containers = len(names) - sum(name in names for name in ours)
    if containers > MAX_CONTAINERS:
        raise Denied(
            [Finding("spec.containers", f"{containers} containers", f"at most {MAX_CONTAINERS}")]
        )
    characters = sum(len(env.name) + len(env.value) for env in needs.env)
    if characters * containers > _LARGEST:
        what = f"{containers} containers with {characters} characters of environment each"
        raise Denied(
            [Finding("spec.containers", what, "use fewer: etcd cannot store such an object")]
        )
    return containers


def _longest(spec: JobSpec, needs: Needs) -> Iterator[tuple[str, str]]:
    """Name and value of each variable, as containers see it after a start at max."""
    texts = _start_annotations(spec) if any(env.annotation for env in needs.env) else {}
    values: dict[str, str] = {}
    for env in needs.env:
        text = texts.get(env.annotation, env.value)
        # The kubelet expands references to earlier variables, and leaves other references as they
        # are.
        values[env.name] = _REFERENCE.sub(lambda match: values.get(match[1], match[0]), text)
        yield env.name, values[env.name]


def _start_annotations(spec: JobSpec) -> Mapping[str, str]:
    """The pod annotations that a start at max writes."""
    mode = mode_of(spec)
    return mode.at_start(addresses.members(spec)) if mode and mode.at_start else {}
