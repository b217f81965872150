"""Types that all checks share: the installation under test, findings and fixes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeAlias

from edl.errors import Forbidden
from edl.kube.auth.access_review import AccessRight, is_granted
from edl.kube.cluster import ListOptions, PluginCluster, find
from edl.kube.decode.object_facts import NamespaceFacts, namespace, node
from edl.kube.state.quota_usage import with_refused_pods
from edl.model import ClusterState, Node, ObjectRef, TrainingJob
from edl.planner.plan import Plan
from edl.planner.published_settings import Settings
from edl.writes import Json
from kubectl_edl.cli.context import ClusterConnection, Scope
from kubectl_edl.cli.suggested_commands import (
    AdministratorCommand,
    by_administrator,
    with_flags,
)
from kubectl_edl.client.certificate_store import served_outside
from kubectl_edl.client.cluster_view import Reads, Survey, read_survey, survey_cluster
from kubectl_edl.client.optional_reads import Hints
from kubectl_edl.client.reconciler_settings import deciding
from kubectl_edl.doctor.unsettled_pods import UnsettledPod, unsettled_pods
from kubectl_edl.install.components import Component, components
from kubectl_edl.install.installer import UNKNOWN, Installer, installer_of


class Verdict(StrEnum):
    """Severity; only a failure makes `doctor` fail."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


_ANY_SCOPE: Final = Scope()


AS_ADMINISTRATOR: Final = by_administrator("kubectl edl doctor")
IN_A_NAMESPACE: Final = AdministratorCommand(
    f"name a namespace that you may read (-n NAMESPACE), or {AS_ADMINISTRATOR}"
)


class NamespaceUnreadable(Forbidden):
    """The user may list training jobs neither everywhere nor in the default namespace."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One finding, in one sentence.

    `fix` says in words, commands or both how to fix it or to find its cause; empty if there is
    nothing to do.
    """

    verdict: Verdict
    message: str
    fix: str = ""
    check: str = ""
    """The name of the check that reported it, for scripts."""
    unchecked: bool = False
    """The message is the right without which the check could not run."""

    def named(self, check: str, scope: Scope = _ANY_SCOPE) -> "CheckResult":
        """Add the check's name, and options by which the fix's commands use this cluster."""
        return replace(self, check=check, fix=with_flags(self.fix, scope))


def ok(message: str) -> CheckResult:
    return CheckResult(Verdict.OK, message)


def warning(message: str, fix: str) -> CheckResult:
    return CheckResult(Verdict.WARNING, message, fix)


def failure(message: str, fix: str) -> CheckResult:
    return CheckResult(Verdict.FAILURE, message, fix)


SHOWN: Final = 10
"""The most findings of a check that are listed."""


def first(results: Sequence[CheckResult], others: str, none: str = "") -> Iterator[CheckResult]:
    """The first findings, and a count of the rest; `others` is the command that lists all.

    Without findings, `none` is reported as fine.
    """
    yield from results[:SHOWN]
    if len(results) > SHOWN:
        yield warning(f"and {len(results) - SHOWN} more like them", others)
    if none and not results:
        yield ok(none)


@dataclass(frozen=True)
class CheckContext:
    """The installation under test, as one user reaches it at one moment."""

    connection: ClusterConnection
    now: datetime

    @property
    def cluster(self) -> PluginCluster:
        return self.connection.cluster

    @property
    def named(self) -> str:
        """The namespace that the user named; empty for all."""
        return self.connection.scope.namespace

    def covers(self, namespace: str) -> bool:
        return self.named in ("", namespace)

    @cached_property
    def _cluster(self) -> tuple[ClusterState, Hints] | Forbidden:
        """The whole cluster as the reconciler sees it, or the right that the user lacks."""
        try:
            return survey_cluster(self.cluster, self.now, self.settings)
        except Forbidden as error:
            return error

    @property
    def survey(self) -> Survey:
        """Jobs of all namespaces, of the named one, or of the only readable one; read once."""
        return self._readable[0]

    @property
    def where(self) -> str:
        """The option of kubectl for the namespaces that the user may read: `-A`, `-n team`."""
        try:
            namespace = self._readable[1]
        except Forbidden:
            namespace = self.connection.namespace
        return f"-n {namespace}" if namespace else "-A"

    @cached_property
    def _readable(self) -> tuple[Survey, str]:
        """The survey and its namespace, which is empty for all."""
        named = self.named
        if not isinstance(self._cluster, Forbidden):
            return self._surveyed(*self._cluster), named
        try:
            return read_survey(
                replace(self.connection, namespace=named), self.now, Reads.QUOTAS
            ), named
        except Forbidden:
            if named:
                raise
        try:
            return read_survey(self.connection, self.now, Reads.QUOTAS), self.connection.namespace
        except Forbidden as error:
            raise NamespaceUnreadable(str(error), error.status) from error

    def _surveyed(self, state: ClusterState, hints: Hints) -> Survey:
        """The training jobs of the named namespace, or of all."""

        def of_scope(jobs: Iterable[TrainingJob]) -> tuple[TrainingJob, ...]:
            return tuple(job for job in jobs if self.covers(job.key.namespace))

        jobs = with_refused_pods(state.jobs, state.quotas, state.observed_at)
        return Survey(of_scope(jobs), hints, of_scope(state.bare_jobs))

    @cached_property
    def settings(self) -> Settings:
        """The reconciler's, or the usual ones if they cannot be read."""
        return deciding(self.connection, self.now).settings

    @cached_property
    def next_plan(self) -> tuple[ClusterState, Settings, Plan]:
        """The reconciler's next plan, and its input. Raises Forbidden."""
        from edl.planner.decide import decide

        if isinstance(self._cluster, Forbidden):
            raise self._cluster
        state, _ = self._cluster
        settings = self.settings
        return state, settings, decide(state, settings.policy_to_apply(), settings.limits)

    @cached_property
    def unsettled_pods(self) -> tuple[UnsettledPod, ...]:
        """Pods of any owner that terminate or have no node; read once. Raises Forbidden."""
        listed = self.named if isinstance(self._cluster, Forbidden) else ""  # as `_cluster` lists
        pods = unsettled_pods(self.cluster, listed)
        return tuple(pod for pod in pods if self.covers(pod.metadata.namespace))

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """By name. Raises Forbidden."""
        listing = self.cluster.list(ListOptions("Node"))
        return {entry.name: entry for entry in map(node, listing.items)}

    @cached_property
    def namespaces(self) -> Sequence[NamespaceFacts]:
        """Raises Forbidden."""
        return [namespace(raw) for raw in self.cluster.list(ListOptions("Namespace")).items]

    @property
    def system_namespace(self) -> str:
        """The namespace of the installation."""
        return self.cluster.system_namespace

    @property
    def outside_webhook(self) -> str:
        """The URL of a webhook outside of the cluster; empty for one behind a Service."""
        return served_outside(self.cluster)

    @cached_property
    def installer(self) -> Installer:
        """What applies all objects of this installation again."""
        try:
            return installer_of(self.cluster)
        except Forbidden:
            return UNKNOWN

    @cached_property
    def components(self) -> Mapping[str, Component]:
        """Webhook and reconciler by their names, if they exist. Raises Forbidden."""
        return components(self.cluster)

    def may(self, right: AccessRight) -> bool:
        """Whether the user has the right; False if the API server does not answer that."""
        try:
            return is_granted(self.cluster, right)
        except Forbidden:
            return False

    def find(self, target: ObjectRef) -> Json | None:
        """The object, or None if it does not exist. Raises other errors of the API server."""
        return find(self.cluster, target)


@dataclass(frozen=True, slots=True)
class Check:
    """One check. If a `vital` one fails, the later ones are skipped.

    `run` may raise any EdlError: a missing right becomes a warning, or nothing if the check is
    `quiet`, as another one names the right; other errors become a failure.
    """

    name: str
    run: Callable[[CheckContext], Iterator[CheckResult]]
    vital: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Checks under one title."""

    title: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class SectionResult:
    """Results of a section's checks. `cut_short`: a vital one failed and the rest was skipped."""

    title: str
    results: tuple[CheckResult, ...]
    cut_short: bool = False


CheckResults: TypeAlias = Iterator[CheckResult]
