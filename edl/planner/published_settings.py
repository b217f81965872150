"""The settings of a reconciler: their schema, and the text that it publishes for clients."""

import reprlib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import EnumType
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES, Policy, weighted

LONGEST: Final = 3650 * 24 * 3600
"""In seconds, ten years: adding it to a date stays within what datetime represents."""
MAX_WEIGHT: Final = 1e6
Priority: TypeAlias = Annotated[str, Meta(pattern=r"^-?[0-9]{1,10}\Z")]
"""The value of a PriorityClass, as the name of a member in JSON."""
Weight: TypeAlias = Annotated[float, Meta(gt=0, le=MAX_WEIGHT)]
_Name: TypeAlias = Annotated[str, Meta(max_length=63)]
_Group = TypeVar("_Group", bound=Struct)


class Settings(
    Struct,
    frozen=True,
    rename={"priority_weight": "weights", "ignored_namespaces": "ignoredNamespaces"},
):
    """A policy by name, with its weights and durations, and the limits.

    `unknown` names settings of a newer reconciler that this version does not know.
    """

    policy: Annotated[
        str,
        "Policy that chooses which jobs are scaled up and down.",
        Meta(examples=["throughput"]),
    ] = next(iter(POLICIES))
    priority_weight: Annotated[
        Mapping[Priority, Weight],
        "Weight of jobs from a priority (a PriorityClass's value) up: 1000=2 doubles their share.",
        Meta(examples=[{"1000": 2}]),
    ] = {}
    patience: Annotated[
        timedelta | None,
        "How long a job queues before running jobs of equal priority are scaled down for it."
        " Default: the policy's (throughput: 30 s, others: 0).",
        Meta(examples=[30]),
    ] = None
    idle: Annotated[
        timedelta | None,
        "Quiet period without starts or resizes before jobs are scaled up."
        " Default: the policy's (throughput: 60 s, others: 0).",
        Meta(examples=[60]),
    ] = None
    limits: Limits = Limits()
    ignored_namespaces: Annotated[tuple[_Name, ...], Meta(examples=[["argocd"]])] = ()
    """Further namespaces in which nothing is managed."""
    unknown: tuple[str, ...] = ()

    def policy_to_apply(self) -> Policy:
        """The named policy, adjusted."""
        policy = POLICIES[self.policy]
        timed = replace(
            policy,
            reclaim_delay=policy.reclaim_delay if self.patience is None else self.patience,
            quiet_period=policy.quiet_period if self.idle is None else self.idle,
        )
        return weighted(timed, {int(name): weight for name, weight in self.priority_weight.items()})

    def __str__(self) -> str:
        """As users see it: `policy fair, load ceiling 97 %`."""
        share = f"load ceiling {self.limits.load_ceiling * 100:g} %"
        preempts = ", preempting" if self.limits.preempt else ""
        weighs = ", weighted by priority" if self.priority_weight else ""
        return f"policy {self.policy}{weighs}, {share}{preempts}"


class Setting(Struct, frozen=True):
    """One setting as clients write it, in JSON. `kind` is its type in `Settings` or `Limits`.

    With a description it is an option of the reconciler and a value of the chart.
    """

    name: str
    published: str
    kind: Any
    default: Any
    description: str
    bounds: Meta

    @property
    def is_duration(self) -> bool:
        return self.kind in (timedelta, timedelta | None)

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values, if there is a fixed set of them."""
        if self.name == "policy":
            return tuple(POLICIES)
        return tuple(map(str, self.kind)) if isinstance(self.kind, EnumType) else ()

    @property
    def json_type(self) -> Any:  # noqa: ANN401 - a type
        """Its type in JSON, with its bounds. Durations are in seconds."""
        if self.is_duration:
            return Annotated[float, Meta(ge=0, le=LONGEST)]
        return Annotated[Literal[self.choices] if self.choices else self.kind, self.bounds]

    @property
    def allowed(self) -> str:
        """The allowed values, for messages."""
        least, most = self.bounds.ge, self.bounds.le
        if self.is_duration:
            return f"a number of seconds from 0 to {LONGEST}"
        if self.kind is bool:
            return "true or false"
        if most is not None:
            return f"a number above 0, at most {most:g}" if least is None else f"{least} to {most}"
        example = self.default or (self.bounds.examples or [""])[0]
        return ", ".join(self.choices) or f"a value such as {example}"

    def read(self, given: object) -> Any:  # noqa: ANN401 - of its kind
        """From JSON. Raises ValueError with the value shortened to fit on one line."""
        try:
            value = msgspec.convert(given, self.json_type)
        except msgspec.ValidationError:
            shown = reprlib.repr(given)
            raise ValueError(f"{self.published}: {shown}; allowed: {self.allowed}") from None
        if self.is_duration:
            return timedelta(seconds=value)
        return self.kind(value) if self.choices else value


def schema(usual: Struct) -> Iterator[Setting]:
    """The settings of a struct with its defaults, and of those in it."""
    for field in msgspec.structs.fields(usual):
        default = getattr(usual, field.name)
        about = {
            type(annotation): annotation for annotation in getattr(field.type, "__metadata__", ())
        }
        kind = field.type.__origin__ if about else field.type
        if isinstance(default, Struct):
            yield from schema(default)
        else:
            names = (field.name, field.encode_name)
            yield Setting(*names, kind, default, about.get(str, ""), about.get(Meta, Meta()))


def filled(usual: _Group, values: Mapping[str, Any]) -> _Group:
    """The struct, and those in it, with these values by name."""
    replaced = {}
    for name, default in asdict(usual).items():
        if isinstance(default, Struct):
            replaced[name] = filled(default, values)
        elif name in values:
            replaced[name] = values[name]
    return replace(usual, **replaced)


_ALL: Final = {
    setting.published: setting for setting in schema(Settings()) if setting.name != "unknown"
}
OPTIONS: Final = tuple(setting for setting in _ALL.values() if setting.description)
"""The settings that are options of the reconciler and values of the chart."""
_LIMITS: Final = {setting.published: setting for setting in schema(Limits())}
_OWN: Final = {name: setting for name, setting in _ALL.items() if name not in _LIMITS}
_decoder: Final = msgspec.json.Decoder(dict[str, Any])


def render(settings: Settings) -> str:
    """The settings as JSON for `read`, with durations in seconds."""
    values = asdict(settings) | asdict(settings.limits) | asdict(settings.limits.provisioning)
    given = {name: in_json(values[setting.name]) for name, setting in _ALL.items()}
    top = {name: given[name] for name in _OWN if given[name] not in (None, (), {})}
    limits = {name: given[name] for name in _LIMITS}
    return msgspec.json.encode(top | {"limits": limits}).decode()


def in_json(value: object) -> Any:  # noqa: ANN401 - JSON
    """A value of a setting, as `Setting.read` reads it."""
    return value.total_seconds() if isinstance(value, timedelta) else msgspec.to_builtins(value)


def read(text: str) -> Settings:
    """The settings in text of `render`, perhaps of another version; missing ones have defaults.

    Raises ValueError, with the field's name, for malformed JSON, an unknown policy or an invalid
    value: any client that may write the Lease can write this text.
    """
    try:
        top = _decoder.decode(text)
        limits = msgspec.convert(top.pop("limits", {}), dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"settings: {error}") from None
    values = {
        setting.name: setting.read(given[name])
        for kinds, given in ((_OWN, top), (_LIMITS, limits))
        for name, setting in kinds.items()
        if name in given
    }
    unknown = top.keys() - _OWN.keys() | limits.keys() - _LIMITS.keys()
    return replace(filled(Settings(), values), unknown=tuple(sorted(unknown)))
