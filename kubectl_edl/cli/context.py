"""The outside of a command, as arguments: streams, a clock and a connection to the cluster."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime, timedelta

    from edl.kube.cluster import Cluster, ListOptions, PluginCluster


def _harmless(text: str) -> str:
    if text.isprintable():
        return text
    from kubectl_edl.output.safe_text import harmless_lines  # noqa: PLC0415 (a cold start)

    return harmless_lines(text)


@dataclass(frozen=True, slots=True)
class Scope:
    """The cluster and namespace that the user means; empty fields were not given."""

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
    """Where kubectl-edl is installed."""
    request_timeout: timedelta | None = None
    """How long one request may take; None where nothing is said."""

    @property
    def connection_flags(self) -> list[str]:
        """The same cluster, as the same user, for kubectl itself."""
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
        """The same at the end of a command that we suggest: ` --context prod`, or nothing."""
        return "".join(f" {quote(text)}" for text in self.connection_flags)

    @property
    def edl_flags(self) -> str:
        """For a command of ours about the installation, which is where the user said it is."""
        there = self.system_namespace
        return self.cluster_flags + (f" --system-namespace {quote(there)}" if there else "")

    @property
    def flags(self) -> str:
        """With the namespace before them: ` -n team --context prod`, ` -A` or nothing."""
        if self.all_namespaces:
            return f" -A{self.cluster_flags}"
        return self.flags_in(self.namespace) if self.namespace else self.cluster_flags

    def flags_in(self, namespace: str) -> str:
        """For a command about an object of this namespace: ` -n team --context prod`."""
        return f" -n {namespace}{self.cluster_flags}"


@dataclass(frozen=True, slots=True)
class ClusterConnection:
    """A cluster and the user's namespace in it, empty for all namespaces."""

    cluster: PluginCluster
    namespace: str
    server: str
    scope: Scope


class Changes(Protocol):
    """Yields when a selected object may have changed, until the user stops it.

    Also at each of the `deadlines`, which are counted from now.
    """

    def __call__(
        self, cluster: Cluster, selection: ListOptions, deadlines: Sequence[timedelta] = ()
    ) -> Iterator[None]: ...


class Watched(Protocol):
    """A cluster that answers lists of these selections from watches, where it can."""

    def __call__(
        self, cluster: PluginCluster, selections: Sequence[ListOptions]
    ) -> PluginCluster: ...


def _unwatched(cluster: PluginCluster, selections: Sequence[ListOptions]) -> PluginCluster:
    del selections
    return cluster


def _no_kubectl(arguments: Sequence[str], text: str) -> int:
    raise NotImplementedError(f"kubectl {arguments} with {len(text)} characters")


@dataclass(frozen=True, slots=True)
class CliContext:
    """`width` is the terminal's in characters, None when stdout is a pipe or a file."""

    out: TextIO
    err: TextIO
    stdin: TextIO
    now: Callable[[], datetime]
    sleep: Callable[[float], None]
    connect: Callable[[Scope], ClusterConnection]
    changes: Changes
    watched: Watched = _unwatched
    listening: Callable[[], AbstractContextManager[None]] = nullcontext
    """While it lasts, keys and a terminal of another size interrupt the wait for changes."""
    width: int | None = None
    coloured: bool = False
    """Whether stdout shows colours, and its reader wants them."""
    size: Callable[[], tuple[int, int]] | None = None
    """The terminal's columns and lines as they are now; None where `width` is all that is known."""
    unicode: bool = True
    """Whether the reader's terminal knows more than ASCII."""
    kubectl: Callable[[Sequence[str], str], int] = _no_kubectl
    """Runs kubectl with these arguments and this standard input, on our streams; its exit code."""

    def say(self, text: str) -> None:
        """One line on stdout, whatever of the cluster it quotes."""
        self.out.write(f"{_harmless(text)}\n")

    def warn(self, text: str) -> None:
        """One line on stderr: hints, and everything that is not the answer."""
        self.err.write(f"{_harmless(text)}\n")
