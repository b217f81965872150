"""Requests grown on purpose: few bytes that name much; many of one thing, long, wide or deep."""

from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeAlias

from edl import contract
from edl.writes import Json
from tests.fuzz import teams, twists

Growth: TypeAlias = Callable[[Random, Json, int], None]
"""Makes `count` of something in a manifest, in place."""

COUNTS: Final = (100, 1_000, 10_000)
_ROLES: Final = (
    ("tensorflow", "chief=1,ps={n},worker=1..{n}", "worker", ""),
    ("tensorflow", "chief=1,worker={n}", "worker", "collective"),
    ("tensorflow", "chief=1,ps={n},worker={n}", "chief", "sparse"),
    ("mxnet", "scheduler=1,server={n},worker=1..{n}", "worker", ""),
    ("mxnet", "scheduler=1,server={n},worker=1..{n}", "scheduler", "fork"),
    ("mxnet", "tunertracker=1,tunerserver={n},tuner=1", "tuner", ""),
    ("paddle", "pserver={n},trainer=1..{n}", "trainer", "ps"),
    ("pytorch", "worker=1..{n}", "worker", ""),
    ("horovod", "launcher=1,worker=1..{n}", "launcher", ""),
)


def sizes(random: Random, manifest: Json, count: int) -> None:
    """Large sizes in few bytes."""
    framework, roles, role, mode = random.choice(_ROLES)
    size = random.choice((count, 1_000, 2_000, 4_000, 100_000))
    manifest["kind"] = random.choice(("Job", "Pod"))
    metadata = manifest["metadata"] = {"name": f"a-{role}", "namespace": "lab"}
    metadata["labels"] = {
        contract.FRAMEWORK: framework,
        contract.JOB: "a",
        contract.ROLE: role,
    }
    metadata["annotations"] = {contract.ROLES: roles.format(n=size)}
    metadata["annotations"] |= {contract.MODE: mode} if mode else {}
    _pod(manifest)["containers"] = [{"name": f"c{n}"} for n in range(random.choice((1, 1, 50)))]


def unknown_names(random: Random, manifest: Json, count: int) -> None:
    place = random.choice(("labels", "annotations"))
    form = random.choice(("edl.dev/default-mx{}", "edl.dev/{}", "edl.dev/min{}"))
    _at(manifest, "metadata")[place] = _labels(manifest) | {
        form.format(n): "" for n in range(count)
    }


def long_names(_: Random, manifest: Json, count: int) -> None:
    _at(_at(manifest, "metadata"), "annotations")["edl.dev/" + "m" * count] = "x" * count


def long_values(random: Random, manifest: Json, count: int) -> None:
    """Lists of names, of roles, digits without end."""
    text = random.choice(("a,", "worker=1,", "9", "$(A)", "1.", "[", "x", "a-", "a/", "=", ","))
    name = random.choice(
        (
            *(contract.REMOVE, contract.ROLES, contract.SLOTS, contract.PROGRESS),
            *(contract.REQUIRED_TOPOLOGY, contract.PREFERRED_TOPOLOGY, contract.GPU_CLASS),
            contract.PROVISION,
        )
    )
    _at(_at(manifest, "metadata"), "annotations")[name] = text * count


def containers(random: Random, manifest: Json, count: int) -> None:
    one: Any = random.choice(({}, {"name": "a"}, {"name": "a", "env": [{"name": "A"}]}, [0], 1))
    _pod(manifest)["containers"] = [one] * count


def variables(_: Random, manifest: Json, count: int) -> None:
    env = [{"name": f"A{n}", "value": f"$(A{n - 1})$(A{n - 1})"} for n in range(count)]
    _pod(manifest)["containers"] = [{"name": "a", "env": env}]


def lists(random: Random, manifest: Json, count: int) -> None:
    field = random.choice(("volumes", "tolerations", "schedulingGates", "initContainers"))
    _pod(manifest)[field] = [{"name": f"a{n}"} for n in range(count)]


def owners(_: Random, manifest: Json, count: int) -> None:
    _at(manifest, "metadata")["ownerReferences"] = [
        {"kind": "A", "uid": f"{n}"} for n in range(count)
    ]


def misfits(random: Random, manifest: Json, count: int) -> None:
    """Values of a wrong type, each of which is a finding."""
    wrong: Any = random.choice((1, None, [], {}))
    place = random.choice(("labels", "annotations"))
    _at(manifest, "metadata")[place] = _labels(manifest) | {f"a{n}": wrong for n in range(count)}


def nesting(random: Random, manifest: Json, count: int) -> None:
    _at(manifest, "spec")["deep"] = [twists.nested(random.choice((1, 20, 90)), 0)] * (count // 50)


def terms(_: Random, manifest: Json, count: int) -> None:
    match = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"] * 10}]}
    required = {"nodeSelectorTerms": [match] * (count // 10)}
    _pod(manifest)["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
    }


def settings(_: Random, manifest: Json, count: int) -> None:
    """Of a Namespace."""
    manifest.clear()
    names = {f"edl.dev/default-mx{n}": "x" for n in range(count)}
    metadata = {"name": "lab", "annotations": names | {contract.LARGEST_MAX: "9" * count}}
    manifest |= {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def documents(random: Random, manifest: Json, _: int) -> None:
    """Of the teams."""
    manifest.clear()
    manifest |= teams.config_map(random, teams.grown(random))


def claims(_: Random, manifest: Json, count: int) -> None:
    """Many ResourceClaims beside GPUs of a class."""
    metadata = _at(manifest, "metadata")
    metadata["labels"] = _labels(manifest) | {contract.GPU: "2"}
    metadata["annotations"] = {contract.GPU_CLASS: "gpu.example.com"}
    _pod(manifest)["resourceClaims"] = [
        {"name": f"c{n}", "resourceClaimTemplateName": f"t{n}"} for n in range(count)
    ]


GROWTHS: Final[tuple[Growth, ...]] = (
    *(sizes, sizes, unknown_names, long_names, long_values, containers, variables, lists),
    *(owners, misfits, nesting, terms, settings, claims, documents, documents, documents),
)


def _labels(manifest: Json) -> Json:
    """One of ours, so that the manifest is looked at."""
    framework = _at(_at(manifest, "metadata"), "labels").get(contract.FRAMEWORK, "none")
    return {contract.FRAMEWORK: framework}


def _pod(manifest: Json) -> Json:
    spec = _at(manifest, "spec")
    return spec if manifest.get("kind") == "Pod" else _at(_at(spec, "template"), "spec")


def _at(place: Json, key: str) -> Json:
    if not isinstance(place.get(key), dict):
        place[key] = {}
    found: Json = place[key]
    return found
