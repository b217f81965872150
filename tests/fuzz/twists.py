"""Changes to a manifest at random: each makes one thing in it odd. Seeded, and fast."""

import copy
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, TypeAlias

from edl import contract
from edl.contract import registry
from edl.contract.registry import EntryKind
from edl.frameworks import FRAMEWORKS
from edl.writes import Json

Twist: TypeAlias = Callable[[Random, Json], None]
"""Changes the manifest in place."""

HUGE_NUMBER: Final = "@HUGE_NUMBER@"
SURROGATE: Final = "@SURROGATE@"
RAW: Final = {
    f'"{HUGE_NUMBER}"'.encode(): b"1" * 300,
    SURROGATE.encode(): rb"\ud83d",
}
"""What stands for bytes that no encoder writes: half a character, a number above every int."""

_SHELL: Final = "$(touch /tmp/x) `id` ;\n'\"\\ ${IFS} $(JOB_COMPLETION_INDEX)"
_TEXTS: Final = (
    *("", " ", "0", "-1", "1.5", "1e999999", "9" * 400, "0x10", "٣", "1\n", "true", "null"),
    *("ü\u202e\u0000🚀", _SHELL, "a" * 64, "A_b", "a..b", "-a", "a/b/c", "%s%n", SURROGATE),
)
_NUMBERS: Final = (0, -1, 1, 2, 7, 100_001, 2**31, 2**63, -(2**63), 0.5, 1e308, HUGE_NUMBER)
_SHAPES: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [{}],
    [None],
    {"": ""},
    {"a/b~c": [1]},
    ["", 1],
)
_LABELS: Final = tuple(one.name for one in registry.ENTRIES if one.kind is EntryKind.LABEL)
_NOTES: Final = tuple(one.name for one in registry.ENTRIES if one.kind is EntryKind.ANNOTATION)
_ROLES: Final = tuple(sorted({role for each in FRAMEWORKS.values() for role in each.kinds}))
_MODES: Final = tuple(sorted({mode.name for each in FRAMEWORKS.values() for mode in each.modes}))
_ROLE_LISTS: Final = (
    *("chief=1,ps=2,worker=1..12", "launcher=1,worker=2..4", "worker=3", "scheduler=1,worker=2"),
    *("worker=1..100000", "worker=4..1", "worker=x", ",", "ps=0", "pserver=2,trainer=1..4"),
)
_WORDS: Final = (*FRAMEWORKS, *_ROLES, *_MODES, *_ROLE_LISTS)
_SAYINGS: Final = (
    *("1", "2", "3", "8", "12", "64", "0.5", "1.0", "3Gi", "true", "false", "60s", "5m", "93%"),
    *("topology.kubernetes.io/zone", "worker=example.com/rack,chief=disk", "a,b,c,d,e,f,g,h,i"),
    *("minimum", "maximum", "never", "gpu.example.com", "x" * 300),
    *("Running", "All", "None", "Never", "ExitCode", "enabled", "disabled", "mnist", "lab"),
)
_FIELDS: Final[dict[str, tuple[Any, ...]]] = {
    "parallelism": (0, 1, 2, 3, 12, 500),
    "completions": (None, 0, 1, 3, 12, 100),
    "suspend": (True, False),
    "completionMode": ("Indexed", "NonIndexed"),
    "backoffLimit": (0, 6, 9),
    "managedBy": ("", "kubernetes.io/job-controller", "example.com/mine"),
    "activeDeadlineSeconds": (1, 60),
    "ttlSecondsAfterFinished": (0, 60),
}
_POD_FIELDS: Final[dict[str, tuple[Any, ...]]] = {
    "restartPolicy": ("Never", "OnFailure", "Always"),
    "schedulerName": ("default-scheduler", "mine", "kubeshare-scheduler"),
    "serviceAccountName": ("trainer", "default", ""),
    "subdomain": ("mnist", "other"),
    "hostname": ("mnist-0",),
    "hostNetwork": (True,),
    "nodeName": ("node-1",),
    "nodeSelector": ({"disk": "ssd"}, {contract.SHARED_GPU_NODE: "true"}),
    "schedulingGates": ([{"name": "example.com/gate"}],),
    "volumes": ([{"name": "data", "emptyDir": {}}],),
    "affinity": ({"podAntiAffinity": {}}, {"nodeAffinity": {}}),
}
_CONTAINER_FIELDS: Final[dict[str, tuple[Any, ...]]] = {
    "command": (["train"], [_SHELL]),
    "args": (["--fast"],),
    "env": ([{"name": "TF_CONFIG", "value": "{}"}], [{"name": "A", "value": _SHELL}]),
    "ports": ([{"containerPort": 2222, "name": "board"}],),
    "volumeMounts": ([{"name": "data", "mountPath": "/etc/edl"}],),
    "resources": (
        {"limits": {contract.GPU_RESOURCE: "4"}},
        {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
        {"limits": {"cpu": "many"}},
    ),
    "lifecycle": ({"preStop": {"exec": {"command": ["sleep", "1"]}}},),
}


def usual(random: Random, manifest: Json) -> None:
    """What users do: a label or annotation of the contract, or a field of the Job or its pods."""
    random.choices(_USUAL, _USUAL_WEIGHTS)[0](random, manifest)


def odd(random: Random, manifest: Json) -> None:
    """What nobody should do: anything, anywhere, of any type."""
    random.choices(_ODD, _ODD_WEIGHTS)[0](random, manifest)


def label(random: Random, manifest: Json) -> None:
    """Half of the time of one that stands there."""
    _say(random, manifest, "labels", _LABELS)


def annotation(random: Random, manifest: Json) -> None:
    _say(random, manifest, "annotations", _NOTES)


def field(random: Random, manifest: Json) -> None:
    _set(random, _at(manifest, "spec"), _FIELDS)


def pod_field(random: Random, manifest: Json) -> None:
    _set(random, _pod(manifest), _POD_FIELDS)


def container_field(random: Random, manifest: Json) -> None:
    containers = _pod(manifest).get("containers")
    if isinstance(containers, list) and containers and isinstance(containers[0], dict):
        _set(random, random.choice(containers), _CONTAINER_FIELDS)


def name(random: Random, manifest: Json) -> None:
    metadata = _at(manifest, "metadata")
    if random.random() < 0.3:
        metadata.pop("name", None)
        metadata["generateName"] = "made-"
    else:
        length = random.choice((1, 10, 40, 52, 53, 60, 63))
        metadata["name"] = "n" * length


def replaced(random: Random, manifest: Json) -> None:
    """A value anywhere becomes another one, of any type."""
    place, key = _anywhere(random, manifest)
    if key is not None:
        place[key] = anything(random)


def removed(random: Random, manifest: Json) -> None:
    place, key = _anywhere(random, manifest)
    if key is not None:
        del place[key]


def added(random: Random, manifest: Json) -> None:
    place, _ = _anywhere(random, manifest)
    if isinstance(place, dict):
        place[random.choice(_TEXTS)] = anything(random)
    else:
        place.append(anything(random))


def deep(random: Random, manifest: Json) -> None:
    place, key = _anywhere(random, manifest)
    if key is not None:
        place[key] = nested(random.choice((5, 40, 90, 120, 400)), place[key])


def long(random: Random, manifest: Json) -> None:
    place, key = _anywhere(random, manifest)
    if key is not None:
        place[key] = random.choice((["a"] * 3_000, "x" * 30_000, {f"k{n}": n for n in range(999)}))


def anything(random: Random) -> Any:  # noqa: ANN401 - JSON
    return _own(random.choice(random.choice((_TEXTS, _TEXTS, _NUMBERS, _SHAPES))))


def nested(levels: int, inner: Any) -> Any:  # noqa: ANN401 - JSON
    for level in range(levels):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


def _say(random: Random, manifest: Json, place: str, names: Sequence[str]) -> None:
    texts = _at(_at(manifest, "metadata"), place)
    ours = [one for one in texts if one.startswith(contract.PREFIX)]
    chosen = random.choice(ours) if ours and random.random() < 0.5 else random.choice(names)
    texts[chosen] = random.choice(random.choice((_SAYINGS, _SAYINGS, _WORDS, _TEXTS)))


def _set(random: Random, place: Json, fields: dict[str, tuple[Any, ...]]) -> None:
    chosen = random.choice(tuple(fields))
    if (value := random.choice(fields[chosen])) is None:
        place.pop(chosen, None)
    else:
        place[chosen] = _own(value)


def _own(value: Any) -> Any:  # noqa: ANN401 - JSON
    """What the next twist may change without changing the tables here."""
    return copy.deepcopy(value) if isinstance(value, dict | list) else value


def _pod(manifest: Json) -> Json:
    spec = _at(manifest, "spec")
    return spec if manifest.get("kind") == "Pod" else _at(_at(spec, "template"), "spec")


def _at(place: Json, key: str) -> Json:
    """The object at `key`, made where there is none."""
    found = place.get(key)
    if not isinstance(found, dict):
        found = place[key] = {}
    return found


def _anywhere(random: Random, manifest: Json) -> tuple[Any, Any]:
    """A container somewhere in it and one of its keys, None where it is empty."""
    place: Any = manifest
    while place:
        key = (
            random.choice(tuple(place)) if isinstance(place, dict) else random.randrange(len(place))
        )
        inner = place[key]
        if not inner or not isinstance(inner, dict | list) or random.random() < 0.2:
            return place, key
        place = inner
    return place, None


_USUAL: Final[tuple[Twist, ...]] = (label, annotation, field, pod_field, container_field, name)
_USUAL_WEIGHTS: Final = (25, 20, 15, 15, 20, 5)
_ODD: Final[tuple[Twist, ...]] = (replaced, removed, added, deep, long)
_ODD_WEIGHTS: Final = (50, 20, 20, 7, 3)
