"""What a framework is, and what it says that a task needs. Values only: `edl.inject` merges them.

A framework module describes; it never touches a manifest.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cached_property

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
    """It computes as a worker does, although it is called otherwise."""


class Env(msgspec.Struct, frozen=True):
    """An environment variable: a text, or the value of a pod annotation or field."""

    name: str
    value: str = ""
    annotation: str = ""
    field: str = ""
    """A path that the downward API knows, such as `status.podIP`."""


class LiveFile(msgspec.Struct, frozen=True):
    """A file that shows a pod annotation and follows it while the pod lives."""

    directory: str
    name: str
    annotation: str
    executable: bool = False


class Companion(msgspec.Struct, frozen=True):
    """A container beside the user's, unless the pod has one of that name."""

    name: str
    image: str
    command: tuple[str, ...]


class Needs(msgspec.Struct, frozen=True):
    """What the pods of one role need. Everything the user set himself wins over it."""

    env: tuple[Env, ...] = ()
    files: tuple[LiveFile, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    """First contents of the live files, on the pod."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of the pod by which the user's own programs find it."""
    ports: tuple[tuple[str, int], ...] = ()
    command: tuple[str, ...] = ()
    """For the first container, when it has neither command nor args."""
    gated: bool = False
    """Waits for its first host list behind `contract.HOSTS_GATE`."""
    kubectl: bool = False
    """Runs commands in its workers' pods: gets kubectl and a ServiceAccount that may exec."""
    keys: bool = False
    """Gets the training job's key pair in root's .ssh."""
    lists_pods: bool = False
    """Finds its peers by their labels: gets a ServiceAccount that may list pods."""
    companion: Companion | None = None
    leaving: tuple[str, ...] = ()
    """What the first container runs before it is told to end."""
    shares_processes: bool = False
    """Share the process namespace, so that no program is PID 1: some exit 0 on SIGTERM then."""
    first_decides: bool = False
    """The Job is complete when index 0 is."""
    any_decides: bool = False
    """The Job is complete when any one of its indexes is."""


class Cooldown(msgspec.Struct, frozen=True):
    """The least time between two resizes of a role: each one stalls the program.

    `source`: the annotation, the program whose default it is, or empty for the reconciler's.
    """

    least: timedelta
    source: str = ""


class Mode(msgspec.Struct, frozen=True):
    """A way to run a framework. The default mode is the first whose `role` the job has."""

    name: str
    resizing: ResizePolicy
    role: str = ""
    """The role that selects this mode; empty: any roles do."""
    needed: tuple[str, ...] = ()
    """Roles that it cannot be without."""
    roles: tuple[str, ...] = ()
    """All roles that it knows; empty: all of the framework's."""
    single: tuple[str, ...] = ()
    """Roles that have exactly one replica in this mode."""
    asked: bool = False
    """Never the default: the user names it."""
    execs: bool = False
    """Launchers run commands in their workers' pods: they need the right to."""
    keys: bool = False
    """Its pods reach each other by ssh: they need a key pair."""
    lists_pods: bool = False
    """Its pods find each other by their labels: they need the right to list them."""
    told: bool = False
    """The member list is written at every start even though replicas change while it runs."""
    newcomers: str = ""
    """The role whose hosts are published, one per line, and whose pods learn if they join later."""
    threads: bool = False
    """Without GPUs, a worker has a slot for each CPU that it asks for."""
    port: int = 0
    """Its own default port, 0 for the framework's."""
    cooldown: Cooldown | None = None
    """None where the reconciler's own cooldowns are long enough."""


class FrameworkOption(msgspec.Struct, frozen=True):
    """An annotation that means something to one framework alone.

    `whole`: a number from 1, `most` the largest.
    """

    annotation: str
    default: str = ""
    whole: bool = False
    most: int | None = None


class Framework(msgspec.Struct, frozen=True, dict=True):
    """One training framework, as a row of facts and one function.

    `deciders` in order: the first of them that the job has decides how the training job ends.
    `ranked`: every pod has an index and an address.
    """

    name: str
    roles: tuple[RoleKind, ...]
    worker: str
    deciders: tuple[str, ...]
    modes: tuple[Mode, ...]
    describe: Callable[[JobSpec], Needs]
    port: int = 0
    ranked: bool = True
    at_start: Callable[[Mapping[str, Sequence[str]]], Mapping[str, str]] | None = None
    """From `host:port` by role to pod annotations, written at each start: the running members."""
    publishes: str = ""
    """The role whose hosts are published to the launcher, empty if none are."""
    settings: tuple[FrameworkOption, ...] = ()
    fewest: str = ""
    """The variable that tells pods how many of them must come together: `4`, or `4:8`."""
    meets: str = ""
    """The mode in which pods wait for each other, and train nothing with less than the minimum."""
    first_by_name: str = ""
    """The role whose first pod peers know by its bare host name where the role stands alone."""

    @cached_property
    def kinds(self) -> Mapping[str, RoleKind]:
        return {kind.name: kind for kind in self.roles}

    def decider(self, roles: Sequence[str]) -> str:
        """Which of the roles decides; empty if none of them can."""
        return next((name for name in self.deciders if name in roles), "")

    def only_one(self, role: str, mode: Mode) -> str:
        """Why the role has exactly one replica, and which roles bring more; empty where it may."""
        if self.kinds[role].single:
            return f"{self.name} has exactly one"
        if role not in mode.single:
            return ""
        wider = next((one.needed for one in self.modes if role in one.needed), ())
        others = ", ".join(f"add {name}=…" for name in wider if name != role)
        more = f"; for more, list all roles: {others}" if others else ""
        return f"mode {mode.name} has exactly one{more}"

    def mode(self, name: str, roles: Sequence[str]) -> Mode | None:
        """The mode of that name, or the default one for an empty name; None if there is none."""
        shown = [mode for mode in self.modes if not mode.role or mode.role in roles]
        if name:
            return next((mode for mode in shown if mode.name == name), None)
        # Servers and workers without a scheduler mean the mode that knows them, not a lesser one.
        knowing = [
            mode
            for mode in (*shown, *self.modes)
            if not mode.roles or set(roles) <= set(mode.roles)
        ]
        return next((mode for mode in (*knowing, *shown) if not mode.asked), None)
