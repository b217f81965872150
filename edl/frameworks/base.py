"""What a framework is, and what the pods of its roles need: values that `edl.inject` merges.

A framework module describes; it never touches a manifest.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Final

import msgspec

from edl.model import ResizePolicy
from edl.spec.job_spec import JobSpec


class RoleKind(msgspec.Struct, frozen=True):
    """One of a framework's roles. `serves`: it never ends by itself."""

    name: str
    resizable: bool = False
    serves: bool = False
    single: bool = False
    """Exactly one replica."""
    trains: bool = False
    """The role computes as a worker does, despite its name."""
    apart: bool = False
    """Its pods need none of the other roles, which do not know it."""


class Env(msgspec.Struct, frozen=True):
    """An environment variable: a literal value, or that of a pod annotation or field."""

    name: str
    value: str = ""
    annotation: str = ""
    field: str = ""
    """A path of the downward API, such as `status.podIP`."""


class LiveFile(msgspec.Struct, frozen=True):
    """A file whose content is a pod annotation, and follows it while the pod lives."""

    directory: str
    name: str
    annotation: str
    executable: bool = False


class Companion(msgspec.Struct, frozen=True):
    """A container added to the user's, unless the pod has one of that name."""

    name: str
    image: str
    command: tuple[str, ...]


class Needs(msgspec.Struct, frozen=True):
    """What the pods of one role need. Whatever the user has set takes precedence."""

    env: tuple[Env, ...] = ()
    files: tuple[LiveFile, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    """Initial contents of the live files, as annotations of the pod."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the pod by which the user's own programs find it."""
    ports: tuple[tuple[str, int], ...] = ()
    command: tuple[str, ...] = ()
    """For the first container, if it has neither command nor args."""
    gated: bool = False
    """The pod waits for its first host list behind the scheduling gate `contract.HOSTS_GATE`."""
    kubectl: bool = False
    """The pod runs commands in its workers' pods: it gets kubectl and a ServiceAccount that may
    exec."""
    ssh_keys: bool = False
    """The pod gets the training job's key pair in root's .ssh."""
    lists_pods: bool = False
    """The pod finds its peers by their labels: it gets a ServiceAccount that may list pods."""
    companion: Companion | None = None
    leaving: tuple[str, ...] = ()
    """The preStop command of the first container."""
    shares_processes: bool = False
    """Share the process namespace, so that no program is PID 1: some exit 0 on SIGTERM then."""
    first_decides: bool = False
    """The Job is complete when index 0 is."""
    any_decides: bool = False
    """The Job is complete when any one of its indexes is, if its size varies or a launcher of the
    framework starts its processes."""


LEAST_COOLDOWN: Final = "10s"
"""The smallest `edl.dev/cooldown` that a job may set; the largest is `MAX_COOLDOWN`."""
MAX_COOLDOWN: Final = "1d"


class Cooldown(msgspec.Struct, frozen=True):
    """The least time between two resizes of a role: each one stalls the program.

    `source` is the annotation that sets it, or the program whose default it is; empty for the
    reconciler's.
    """

    least: timedelta
    source: str = ""
    after_growth: timedelta | None = None
    """The least time from one scale-up to the next, if that is shorter."""


NO_STALL: Final = Cooldown(timedelta())
"""New replicas join while the others train, so a scale-up may soon follow another.

docs/performance.md: TensorFlow makes no step for at most 1.6 s, Horovod for up to 6 s.
"""


class ModeRight(StrEnum):
    """What the reconciler creates for some modes alone, in the words of RBAC.

    An installation may withhold it: `rights.secrets`, `rights.rolebindings`.
    """

    SECRETS = "secrets"
    ROLEBINDINGS = "rolebindings"


class PeerAccess(StrEnum):
    """How the pods of a training job reach each other, and what they need for it."""

    EXEC = "exec"
    """Launchers run commands in their workers' pods: RBAC."""
    SSH = "ssh"
    """A key pair."""
    LABELS = "labels"
    """Pods find each other by their labels: the right to list pods."""


class Mode(msgspec.Struct, frozen=True):
    """A way to run a framework. The default mode is the first whose `role` the job has."""

    name: str
    resizing: ResizePolicy
    describe: Callable[[JobSpec], Needs]
    role: str = ""
    """The role that selects this mode; empty if no role does."""
    roles: tuple[str, ...] = ()
    """All roles that the mode knows, and requires; empty if any of the framework's will do."""
    single: tuple[str, ...] = ()
    """Roles that have exactly one replica in this mode."""
    opt_in: bool = False
    """Never the default: the user must name it."""
    peers: PeerAccess | None = None
    """How pods reach each other, if their addresses do not suffice."""
    at_start: Callable[[Mapping[str, Sequence[str]]], Mapping[str, str]] | None = None
    """Maps `host:port` by role, the running members, to pod annotations; called at each start."""
    newcomers: str = ""
    """The role whose hosts are published, one per line, and whose pods learn if they join later."""
    threads: bool = False
    """A worker without GPUs has a slot for each CPU that it requests."""
    one_gpu: bool = False
    """A program that none of the framework's launchers starts uses one GPU of its pod."""
    rendezvous_env: tuple[str, ...] = ()
    """Variables by which the launchers meet: they do not with other values than ours."""
    port: int = 0
    """The mode's default port; 0 for the framework's."""
    cooldown: Cooldown | None = None
    """None if the reconciler's own cooldown is long enough; see also `NO_STALL`."""

    def accepts(self, roles: Iterable[str]) -> bool:
        """Whether these are the roles of the mode."""
        given = set(roles)
        return given == set(self.roles) if self.roles else {self.role} - {""} <= given

    def needs_placement(self, roles: Sequence[str]) -> bool:
        """Whether the plan itself assigns nodes to the pods of a job of these roles.

        It does where pods are useful only together: a job of several roles, or one whose processes
        get each other's addresses at each start. A single role that runs at any size needs no
        assignment.
        """
        return len(roles) > 1 or self.at_start is not None

    @property
    def right(self) -> ModeRight | None:
        """What the reconciler must be allowed to create for jobs in this mode."""
        if self.peers is PeerAccess.SSH:
            return ModeRight.SECRETS
        return ModeRight.ROLEBINDINGS if self.peers else None


class FrameworkOption(msgspec.Struct, frozen=True):
    """An annotation that has a meaning for one framework alone.

    `whole`: its value is a number from 1 to `most`.
    """

    annotation: str
    default: str = ""
    whole: bool = False
    most: int | None = None


class Framework(msgspec.Struct, frozen=True, dict=True):
    """One training framework: a row of facts, and its modes.

    `completion_roles`: the first of them that the job has decides how the training job ends.
    `ranked`: every pod has an index and an address.
    """

    name: str
    roles: tuple[RoleKind, ...]
    worker: str
    completion_roles: tuple[str, ...]
    modes: tuple[Mode, ...]
    port: int = 0
    ranked: bool = True
    publishes: str = ""
    """The role whose hosts are published to the launcher; empty if there is none."""
    settings: tuple[FrameworkOption, ...] = ()
    min_peers_env: str = ""
    """The variable that gives pods the number of peers to wait for: `4`, or `4:8`; launchers prefer
    their own option."""
    rendezvous_mode: str = ""
    """The mode in which pods wait for each other, and do not train below the minimum."""
    host_role: str = ""
    """The role whose first pod peers address by its bare host name if the job has no other role."""
    launchers: tuple[str, ...] = ()
    """Parts of a command line that name the programs which start the processes of a pod."""

    @cached_property
    def kinds(self) -> Mapping[str, RoleKind]:
        return {kind.name: kind for kind in self.roles}

    def describe(self, spec: JobSpec) -> Needs:
        """What the pods of this role need in its job's mode."""
        mode = self.mode(spec.mode, spec.role_names)
        return mode.describe(spec) if mode else Needs()

    def launches(self, command_line: str) -> bool:
        return any(launcher in command_line for launcher in self.launchers)

    def completion_role(self, roles: Sequence[str]) -> str:
        """Which of the roles decides; empty if none of them can."""
        return next((name for name in self.completion_roles if name in roles), "")

    def only_one(self, role: str, mode: Mode) -> str:
        """Why the role is limited to one replica, and what lifts that; empty if it is not."""
        if self.kinds[role].single:
            return f"{self.name} has exactly one"
        if role not in mode.single:
            return ""
        wider = next((other.roles for other in self.modes if {role} < {*other.roles}), ())
        others = ", ".join(f"add {name}=…" for name in wider if name != role)
        more = f"; for more, list all roles: {others}" if others else ""
        return f"mode {mode.name} has exactly one{more}"

    def mode(self, name: str, roles: Sequence[str]) -> Mode | None:
        """The mode of that name, or the default mode for an empty name; None if no mode fits."""
        shown = [mode for mode in self.modes if not mode.role or mode.role in roles]
        if name:
            return next((mode for mode in shown if mode.name == name), None)
        # Servers and workers without a scheduler mean the mode that knows them, not a lesser one.
        knowing = [
            mode
            for mode in (*shown, *self.modes)
            if not mode.roles or set(roles) <= set(mode.roles)
        ]
        return next((mode for mode in (*knowing, *shown) if not mode.opt_in), None)
