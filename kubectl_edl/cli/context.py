"""The environment of a command as values: streams, a clock and a connection to the cluster."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime, timedelta

    from edl.kube.cluster import ListOptions, PluginCluster


def _harmless(text: str) -> str:
    if text.isprintable():
        return text
    from kubectl_edl.output.safe_text import harmless_line

    return harmless_line(text)


@dataclass(frozen=True, slots=True)
class ServerWarnings:
    """Writes the warnings of the API server to stderr as kubectl does, each of them once."""

    err: TextIO
    _written: set[str] = field(default_factory=set)

    def __call__(self, text: str) -> None:
        if text not in self._written:
            self._written.add(text)
            self.err.write(f"Warning: {_harmless(text)}\n")


@dataclass(frozen=True, slots=True)
class Scope:
    """The cluster and namespace from the command line; empty fields were not given."""

    namespace: str = ""
    all_namespaces: bool = False
    context: str = ""
    kubeconfig: str = ""
    cluster: str = ""
    user: str = ""
    as_user: str = ""
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    system_namespace: str = ""
    """The namespace of the installation."""
    request_timeout: timedelta | None = None
    """Time limit of one request; None if not given."""

    @property
    def connection_flags(self) -> list[str]:
        """Options that give kubectl the same cluster and user."""
        given = {
            "--context": self.context,
            "--kubeconfig": self.kubeconfig,
            "--cluster": self.cluster,
            "--user": self.user,
            "--as": self.as_user,
            "--as-uid": self.as_uid,
        }
        groups = [text for group in self.as_groups for text in ("--as-group", group)]
        return [text for pair in given.items() if pair[1] for text in pair] + groups

    @property
    def cluster_flags(self) -> str:
        """The same options, to append to a suggested command: ` --context prod`, or nothing."""
        return "".join(f" {quote(text)}" for text in self.connection_flags)

    @property
    def helm_flags(self) -> str:
        """The same for a suggested Helm command, which takes no cluster or user by name."""
        given = {
            "--kubeconfig": self.kubeconfig,
            "--kube-context": self.context,
            "--kube-as-user": self.as_user,
        }
        groups = [("--kube-as-group", group) for group in self.as_groups]
        pairs = (*given.items(), *groups)
        return "".join(f" {name} {quote(value)}" for name, value in pairs if value)

    @property
    def edl_flags(self) -> str:
        """The same for a suggested `kubectl edl` command, with `--system-namespace`."""
        there = self.system_namespace
        return self.cluster_flags + (f" --system-namespace {quote(there)}" if there else "")

    @property
    def of_another_user(self) -> Scope:
        """The scope for a command of another user on the same cluster."""
        return replace(self, user="", as_user="", as_uid="", as_groups=())

    @property
    def flags(self) -> str:
        """`cluster_flags` with the namespace: ` -n team --context prod`, ` -A` or nothing."""
        return f"{self._there}{self.cluster_flags}"

    @property
    def job_flags(self) -> str:
        """`edl_flags` with the namespace."""
        return f"{self._there}{self.edl_flags}"

    @property
    def _there(self) -> str:
        if self.all_namespaces:
            return " -A"
        return f" -n {quote(self.namespace)}" if self.namespace else ""

    def within(self, namespace: str) -> Scope:
        """The scope of one namespace, for commands about an object in it."""
        return replace(self, namespace=namespace, all_namespaces=False)


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """A cluster, and the user's namespace in it; an empty namespace means all."""

    cluster: PluginCluster
    namespace: str
    server: str
    scope: Scope


class Changes(Protocol):
    """Yields when a selected object may have changed, until the user ends the command.

    Also yields after each of the `deadlines`, which count from the call.
    """

    def __call__(
        self, cluster: PluginCluster, selection: ListOptions, deadlines: Sequence[timedelta] = ()
    ) -> Iterator[None]: ...


@dataclass(frozen=True, slots=True)
class CliContext:
    """A command's environment; `width` is the terminal's in columns, None without a terminal."""

    out: TextIO
    err: TextIO
    stdin: TextIO
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    connect: Callable[[Scope], ClusterConnection]
    changes: Changes
    watched: Callable[[PluginCluster, Sequence[ListOptions]], PluginCluster]
    """Returns a cluster that serves lists of these selections from watches, if it can."""
    kubectl: Callable[[Sequence[str], str], int]
    """Runs kubectl with arguments and stdin text, on our streams; returns its exit code."""
    listening: Callable[[], AbstractContextManager[None]] = nullcontext
    """A context in which keys and a resized terminal interrupt the wait for changes."""
    width: int | None = None
    coloured: bool = False
    """Whether stdout supports colours and the user has not disabled them."""
    size: Callable[[], tuple[int, int]] | None = None
    """Returns the terminal's current columns and lines; None if only `width` is known."""
    unicode: bool = True
    """Whether the terminal supports more than ASCII."""
    patience: float = 1.0
    """Seconds that the first output waits for the load of a large cluster, which may come later."""

    def say(self, *texts: str) -> None:
        """Write each text as one line to stdout, also with line breaks or control characters."""
        self.out.writelines(f"{_harmless(text)}\n" for text in texts)

    def warn(self, *texts: str) -> None:
        """The same on stderr, for hints and all other texts that are not the result."""
        self.err.writelines(f"{_harmless(text)}\n" for text in texts)
