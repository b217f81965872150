"""Pod options per role, as users write them: `4` for all roles, `ps=4` for one."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from edl import contract
from edl.contract import registry
from edl.contract.registry import EntryKind, Setter
from edl.errors import Finding
from edl.frameworks import FRAMEWORKS
from edl.frameworks.base import Framework
from edl.kube.option_group import option, option_group
from edl.quantities import quantity
from kubectl_edl.cli.param_types import EXAMPLE, is_image
from kubectl_edl.create.role_options import plural

_OF_ROLE: Final = re.compile(r"(?P<role>[a-z]+(?:-[a-z]+)*)=(?P<value>.*)", re.DOTALL)
_VARIABLE: Final = re.compile(r"(?P<name>[^=]+)=(?P<value>.*)", re.DOTALL)
_LABEL: Final = re.compile(r"(?P<name>[^=\s]+)=(?P<value>[^=\s]*)")
_CLAIM: Final = re.compile(r"(?P<claim>[a-z0-9]([-a-z0-9.]*[a-z0-9])?):(?P<path>/[^:]*)")
_ELSEWHERE: Final = frozenset(
    {contract.ROLES, contract.MODE, contract.SLOTS}  # have their own options
    | {contract.REQUIRED_TOPOLOGY, contract.PREFERRED_TOPOLOGY}  # likewise
    | {contract.REPLICAS, contract.PAUSED, contract.REMOVE}  # only for existing training jobs
    | {contract.SCALE_TIMEOUT, contract.SCALE_FALLBACK}  # likewise
    | {contract.RANK, contract.SIZE}  # only for bare pods
)
_SETTINGS: Final = tuple(
    entry.name
    for entry in registry.ENTRIES
    if (entry.kind, entry.setter) == (EntryKind.ANNOTATION, Setter.USER)
    and entry.name not in _ELSEWHERE
)


def settings_of(framework: Framework) -> tuple[str, ...]:
    """Names for `--set`: annotations that this framework's users may set, without the prefix."""
    used = {setting.annotation for setting in framework.settings}
    others = {setting.annotation for one in FRAMEWORKS.values() for setting in one.settings} - used
    return tuple(name.removeprefix(contract.PREFIX) for name in _SETTINGS if name not in others)


@option_group
class RolePodOptions:
    """The options' values: `VALUE` or `ROLE=VALUE`.

    `env` and `set` are `NAME=VALUE`, `node_selector` is `LABEL=VALUE[,…]`, `pvc` is `CLAIM:PATH`;
    topologies have their annotations' format.
    """

    image: tuple[str, ...] = option(metavar="[ROLE=]IMAGE", help="Image for all roles, or for one.")
    cpu: tuple[str, ...] = option(
        metavar="[ROLE=]QUANTITY", help="CPU request of each pod, or of a role's pods."
    )
    memory: tuple[str, ...] = option(
        metavar="[ROLE=]QUANTITY", help="Memory request of each pod, or of a role's pods."
    )
    gpu: tuple[str, ...] = option(
        metavar="[ROLE=]N",
        help="GPUs of each training pod, or of a role's pods: 2, or a share such as 0.5.",
    )
    gpu_memory: tuple[str, ...] = option(
        metavar="[ROLE=]QUANTITY", help="Memory of a shared GPU, e.g. 3Gi."
    )
    env: tuple[str, ...] = option(
        "-e", metavar="NAME=VALUE", help="Environment variable for every pod."
    )
    pvc: tuple[str, ...] = option(
        metavar="CLAIM:PATH", help="PersistentVolumeClaim to mount in every pod."
    )
    node_selector: tuple[str, ...] = option(
        metavar="LABEL=VALUE", help="Node label that every pod requires."
    )
    required_topology: tuple[str, ...] = option(
        metavar="[ROLE=]LABEL[,…]",
        help="Run all pods, or a role's, on nodes with one value of this label: a rack, a zone.",
    )
    preferred_topology: tuple[str, ...] = option(
        metavar="LABEL[,…]",
        help="Prefer nodes with few values of these labels, widest domain first.",
    )
    set: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Details:
    """Values by role; `requests` by resource and role; `claims` are (name, mount path).

    `settings` are annotations of ours; an empty value means unset.
    """

    image: Mapping[str, str]
    requests: Mapping[str, Mapping[str, str]]
    gpu: Mapping[str, str]
    gpu_memory: Mapping[str, str]
    env: tuple[tuple[str, str], ...]
    claims: tuple[tuple[str, str], ...]
    node_selector: tuple[tuple[str, str], ...]
    settings: Mapping[str, str]
    findings: tuple[Finding, ...]


def details(options: RolePodOptions, framework: Framework, roles: Sequence[str]) -> Details:
    """Parse the options; `roles` are the job's. GPUs without a role are for roles that train."""
    reader = _Reader(roles)
    kinds = framework.kinds
    training = [role for role in roles if role == framework.worker or kinds[role].trains]
    return Details(
        image=reader.images(options.image, roles),
        requests={
            "cpu": reader.quantities("--cpu", options.cpu),
            "memory": reader.quantities("--memory", options.memory),
        },
        gpu=reader.by_role("--gpu", options.gpu, training),
        gpu_memory=reader.by_role("--gpu-memory", options.gpu_memory, training),
        env=reader.pairs("--env", options.env, _VARIABLE, "write NAME=VALUE"),
        claims=reader.pairs("--pvc", options.pvc, _CLAIM, "write CLAIM:PATH, such as data:/data"),
        node_selector=reader.pairs(
            "--node-selector",
            (label for text in options.node_selector for label in text.split(",")),
            _LABEL,
            "write LABEL=VALUE, such as pool=gpu",
        ),
        settings={
            **reader.settings(options.set, settings_of(framework)),
            contract.REQUIRED_TOPOLOGY: ",".join(options.required_topology),
            contract.PREFERRED_TOPOLOGY: ",".join(options.preferred_topology),
        },
        findings=tuple(reader.findings),
    )


class _Reader:
    """Parses options one by one, and collects all findings."""

    def __init__(self, roles: Sequence[str]) -> None:
        self._roles = {name: role for role in roles for name in (role, plural(role))}
        self.findings: list[Finding] = []

    def by_role(
        self, option: str, texts: Iterable[str], all_roles: Iterable[str]
    ) -> dict[str, str]:
        """Values by role; a value for one role overrides the value for all roles."""
        common: dict[str, str] = {}
        per_role: dict[str, str] = {}
        for text in texts:
            match = _OF_ROLE.fullmatch(text)
            if match is None:
                common = dict.fromkeys(all_roles, text)
            elif match["role"] in self._roles:
                per_role[self._roles[match["role"]]] = match["value"]
            else:
                roles = ", ".join(dict.fromkeys(self._roles.values()))
                what = f'"{text}" is for a role that the training job does not have'
                self.findings.append(Finding(option, what, f"one of {roles}"))
        return common | per_role

    def images(self, texts: Iterable[str], all_roles: Iterable[str]) -> dict[str, str]:
        values = self.by_role("--image", texts, all_roles)
        self.findings.extend(
            Finding("--image", f'"{text}" is not an image', f"write one such as {EXAMPLE}")
            for text in dict.fromkeys(values.values())
            if not is_image(text)
        )
        return values

    def quantities(self, option: str, texts: Iterable[str]) -> dict[str, str]:
        values = self.by_role(option, texts, self._roles.values())
        for text in dict.fromkeys(values.values()):
            try:
                if quantity(text) <= 0:
                    self.findings.append(Finding(option, f'"{text}"', "more than 0"))
            except ValueError as error:
                self.findings.append(Finding(option, str(error)))
        return values

    def settings(self, texts: Iterable[str], names: Sequence[str]) -> dict[str, str]:
        """Settings by the full name of their annotation."""
        pairs = self.pairs("--set", texts, _VARIABLE, "write NAME=VALUE")
        one_of = f"one of {', '.join(names)}"
        self.findings.extend(
            Finding("--set", f'"{name}" is not a setting', one_of)
            for name, _ in pairs
            if name not in names
        )
        return {f"{contract.PREFIX}{name}": value for name, value in pairs if name in names}

    def pairs(
        self, option: str, texts: Iterable[str], form: re.Pattern[str], allowed: str
    ) -> tuple[tuple[str, str], ...]:
        """The two halves of each text: the first and the last group of `form`."""
        matches = {text: form.fullmatch(text) for text in texts}
        self.findings.extend(
            Finding(option, f'"{text}"', allowed)
            for text, match in matches.items()
            if match is None
        )
        return tuple((match[1], match[match.re.groups]) for match in matches.values() if match)
