"""Amounts of resources, exactly as Kubernetes counts them.

Grammar and rounding follow k8s.io/apimachinery/pkg/api/resource. A pod's effective request follows
k8s.io/component-helpers/resource, which kube-scheduler uses.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Annotated, Any, Final, Self, TypeAlias

import msgspec

JsonMapping = Mapping[str, Any]
Amount: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""The range of a Kubernetes quantity (int64); decoding JSON rejects larger values."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
_BYTES: Final = frozenset({MEMORY, "ephemeral-storage", "storage"})
"""Also of one StorageClass: `gold.storageclass.storage.k8s.io/requests.storage`."""
PODS: Final = "pods"
SHARED_GPU: Final = "shared GPU"
"""GPUs that KubeShare shares, in thousandths; Kubernetes itself has no such resource."""

DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
"""Prefix of the resource that stands for the devices of a DeviceClass (KEP-5004)."""

_BINARY: Final = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL: Final = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{letter: Decimal(1000**power) for power, letter in enumerate("kMGTPE", 1)},
}
_FACTORS: Final = _DECIMAL | {suffix: Decimal(factor) for suffix, factor in _BINARY.items()}

_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+)|(?P<suffix>[KMGTPE]i|[numkMGTPE]?))"
)
_LARGEST: Final = Decimal(2**63 - 1)
_NANO: Final = Decimal("1e-9")
_EXPONENT_DIGITS: Final = 9
_KEPT: Final = 64
"""The longest quantity, in characters, that is cached; clients choose how long theirs are."""


def quantity(text: str) -> Decimal:
    """The number that a Kubernetes quantity means, rounded up to nano and capped at 2^63 - 1.

    The documented grammar: a signed number, then nothing, one of n u m k M G T P E, one of
    Ki Mi Gi Ti Pi Ei, or an exponent (`2e3`). `1E` is exa, `1E3` is a thousand.
    Raises ValueError for anything else.
    """
    return _known(text) if len(text) <= _KEPT else _read(text)


def _read(text: str) -> Decimal:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(
            f'"{text}" is not a quantity; a number and one suffix of n u m k M G T P E'
            " Ki Mi Gi Ti Pi Ei, or an exponent, without spaces: 2, 100m, 1.5Gi, 2e3"
        )
    exponent = match["exponent"] or "0"
    if len(exponent.lstrip("+-0")) > _EXPONENT_DIGITS:
        raise ValueError(
            f'"{text}" is not a quantity; its exponent has more than {_EXPONENT_DIGITS} digits'
        )
    exact = Context(prec=len(text) + 32, rounding=ROUND_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)
    value = exact.multiply(Decimal(match["number"]), _FACTORS[match["suffix"] or ""])
    return _representable(exact.scaleb(value, int(exponent)), exact)


_known: Final = lru_cache(maxsize=4096)(_read)


def _representable(value: Decimal, exact: Context) -> Decimal:
    """The nearest value that a Quantity can hold: at most 2^63 - 1, rounded up to nano.

    Negative values are rounded and capped in the same way, away from zero.
    """
    if value.copy_abs() >= _LARGEST:
        return _LARGEST.copy_sign(value)
    return exact.quantize(value, _NANO).normalize(exact) if value else Decimal(0)


def _amount(name: str, given: object) -> int:
    """Whole millicores for cpu, whole base units for the rest, rounded away from zero."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError(f"{name}: {given!r} is not a quantity; a number or text, such as 2 or 1Gi")  # noqa: TRY004 - a finding about the user's input, like every other
    try:
        value = quantity(str(given))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    scaled = value.scaleb(3) if name == CPU else value
    return int(min(max(scaled, -_LARGEST), _LARGEST).to_integral_value(ROUND_UP))


class Resources(msgspec.Struct, frozen=True):
    """Integers by resource name: cpu and shared GPUs in thousandths, the rest in whole base units.

    A resource that is absent counts 0, and zeros are dropped: equal amounts compare equal.
    """

    items: tuple[tuple[str, Amount], ...] = ()
    """Sorted by name, without zeros: make one with `Resources.of` or `Resources.parse`."""

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> Self:
        """Amounts from integers in these units: `Resources.of({"cpu": 500, "pods": 1})`."""
        return cls(tuple(sorted([item for item in amounts.items() if item[1]])))

    @classmethod
    def parse(cls, manifest: JsonMapping | None) -> Self:
        """Amounts from a manifest's `{"cpu": "100m", "memory": "1Gi"}`; values may be YAML numbers.

        Raises ValueError that names the resource.
        """
        amounts = manifest or {}
        return cls.of({name: _amount(name, text) for name, text in amounts.items()})

    def get(self, name: str) -> int:
        return next((amount for key, amount in self.items if key == name), 0)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """(name, amount) sorted by name."""
        return iter(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __add__(self, other: Self) -> Self:
        mine = dict(self.items)
        return self.of(mine | {name: mine.get(name, 0) + amount for name, amount in other.items})

    def __sub__(self, other: Self) -> Self:
        return self + other * -1

    def __mul__(self, times: int) -> Self:
        items = self.items if times else ()  # their order stays
        return type(self)(tuple([(name, amount * times) for name, amount in items]))

    __rmul__ = __mul__

    def most(self, other: Self) -> Self:
        """The larger amount of each resource: init containers run one after another."""
        mine, theirs = dict(self.items), dict(other.items)
        names = mine.keys() | theirs.keys()
        return self.of({name: max(mine.get(name, 0), theirs.get(name, 0)) for name in names})

    def __str__(self) -> str:
        """`4 CPU, 8Gi memory, 2 nvidia.com/gpu`; the one pod slot of a single pod is left out."""
        shown = [
            (name, amount) for name, amount in shown_amounts(self) if (name, amount) != (PODS, 1)
        ]
        first = (CPU, MEMORY)
        shown.sort(key=lambda item: (item[0] not in first, item[0] == PODS, item[0]))
        return ", ".join(amount_text(name, amount) for name, amount in shown) or (
            "1 pod" if self else "nothing"
        )


def amount_text(name: str, amount: int) -> str:
    """One amount as a user reads it: `500m CPU`, `1.5 CPU`, `8Gi memory`, `2 nvidia.com/gpu`."""
    if name == CPU:
        unit = "CPU"
    elif name == PODS:
        unit = "pod" if amount == 1 else "pods"
    elif name.startswith(DEVICE_CLASS):
        unit = devices_text(name, "device" if amount == 1 else "devices")
    else:
        unit = name
    return f"{number_text(name, amount)} {unit}"


def number_text(name: str, amount: int) -> str:
    """The amount alone, as manifests write it: `500m`, `1.5`, `8Gi`, `2`."""
    if name == CPU and 0 < abs(amount) < 1000:  # noqa: PLR2004 - a core
        return f"{amount}m"
    if name in (CPU, SHARED_GPU):
        return f"{Decimal(amount) / 1000:f}"
    if name.rpartition("requests.")[2] in _BYTES or name.startswith("hugepages-"):
        return _bytes_text(amount)
    return str(amount)


def devices_text(name: str, noun: str = "devices") -> str:
    """A DeviceClass resource as users read it, and whether claims select among its devices."""
    device_class, bracket, _ = name.removeprefix(DEVICE_CLASS).partition("[")
    return f"{noun} of DeviceClass {device_class}" + " that claims select" * bool(bracket)


def shown_amounts(amounts: Resources) -> Iterator[tuple[str, int]]:
    """The amounts that users see: one kind of device per DeviceClass, the largest amount.

    A device counts in every kind that it matches, so kinds of one class overlap.
    """
    classes: set[str] = set()
    kinds = [(name.partition("[")[0], -amount, name) for name, amount in amounts.items]
    for device_class, amount, name in sorted(kinds):
        if not (name.startswith(DEVICE_CLASS) and device_class in classes):
            classes.add(device_class)
            yield name, -amount


def _bytes_text(amount: int) -> str:
    """The largest unit that divides the amount; else one decimal of the largest binary one."""
    for units in (_BINARY, {letter: 1000**power for power, letter in enumerate("kMGTPE", 1)}):
        exact = [suffix for suffix, factor in units.items() if amount and amount % factor == 0]
        if exact:
            return f"{amount // units[exact[-1]]}{exact[-1]}"
    fitting = [suffix for suffix, factor in _BINARY.items() if abs(amount) >= factor]
    return f"{amount / _BINARY[fitting[-1]]:.1f}{fitting[-1]}" if fitting else str(amount)


def pod_requests(pod_spec: JsonMapping) -> Resources:
    """What a pod (its `spec` as JSON) requests of a node, as for kube-scheduler, plus 1 pod slot.

    max(containers + sidecars, each init container + the sidecars started before it), then the pod's
    own `resources` (KEP-2837) for cpu, memory and huge pages, then overhead. Raises ValueError for
    a value that is not a quantity.
    """
    effective = _effective(pod_spec, _asked)
    named = {name for container in _all_containers(pod_spec) for name in _asked(container)}
    of_pod = {
        name: text
        for name, text in _asked(pod_spec).items()
        if _pod_level(name) and (name not in named or name in _requests(pod_spec))
    }
    rest = {name: amount for name, amount in effective if name not in of_pod}
    overhead = Resources.parse(pod_spec.get("overhead"))
    return Resources.of(rest) + Resources.parse(of_pod) + overhead + Resources(((PODS, 1),))


def requested_by_pod(pod_spec: JsonMapping) -> frozenset[str]:
    """The resources that the pod's own `resources` request for all of its containers."""
    return frozenset(filter(_pod_level, _asked(pod_spec)))


def pod_limits(pod_spec: JsonMapping) -> Resources:
    """The limits of a pod, as quotas count them: 0 for a container without. Raises ValueError."""
    limits = dict(_effective(pod_spec, _limits).items)
    of_pod = {name: text for name, text in _limits(pod_spec).items() if _pod_level(name)}
    limits |= dict(Resources.parse(of_pod).items)
    overhead = Resources.parse(pod_spec.get("overhead"))
    return Resources.of({name: amount + overhead.get(name) for name, amount in limits.items()})


def _effective(pod_spec: JsonMapping, read: Callable[[JsonMapping], JsonMapping]) -> Resources:
    """The work grows with the size of the spec, also if each container names other resources."""
    running: Counter[str] = Counter()
    for container in pod_spec.get("containers") or ():
        running.update(dict(Resources.parse(read(container)).items))
    most, sidecars = dict(running), Counter[str]()
    for container in _inits(pod_spec):
        for name, amount in Resources.parse(read(container)):
            beside = amount + sidecars[name]
            most[name] = max(most.get(name, 0), beside)
            if _sidecar(container):
                sidecars[name] = beside
                most[name] = max(most[name], running[name] + beside)
    return Resources.of(most)


def _inits(pod_spec: JsonMapping) -> list[JsonMapping]:
    return list(pod_spec.get("initContainers") or ())


def _all_containers(pod_spec: JsonMapping) -> list[JsonMapping]:
    return [*(pod_spec.get("containers") or ()), *_inits(pod_spec)]


def _sidecar(container: JsonMapping) -> bool:
    return container.get("restartPolicy") == "Always"


def _requests(owner: JsonMapping) -> JsonMapping:
    requests: JsonMapping = (owner.get("resources") or {}).get("requests") or {}
    return requests


def _limits(owner: JsonMapping) -> JsonMapping:
    limits: JsonMapping = (owner.get("resources") or {}).get("limits") or {}
    return limits


def _asked(owner: JsonMapping) -> JsonMapping:
    """Requests of a container or pod; a missing request defaults to the limit."""
    return {**_limits(owner), **_requests(owner)}


def _pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")
