"""The checks of `kubectl edl doctor`: one module per part of the installation, in this order."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from edl.errors import EdlError, Forbidden, Unreachable
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.client.optional_reads import asking_once
from kubectl_edl.doctor.checks import (
    api_version,
    configured_teams,
    eviction_budgets,
    installed_components,
    misplaced_keys,
    orphans,
    permissions,
    reconciler_health,
    stuck_jobs,
    stuck_pods,
    webhook_calls,
    webhook_trust,
)
from kubectl_edl.doctor.checks.check import (
    AS_ADMINISTRATOR,
    IN_A_NAMESPACE,
    Check,
    CheckContext,
    CheckResult,
    NamespaceUnreadable,
    Section,
    SectionResult,
    Verdict,
    failure,
)

SECTIONS: Final[tuple[Section, ...]] = (
    Section("Kubernetes API", (Check("api", api_version.answers, vital=True),)),
    Section(
        "Installation",
        (
            Check("installed", installed_components.configurations, vital=True),
            Check("deployments", installed_components.deployments),
            Check("release", installed_components.release),
        ),
    ),
    Section(
        "Webhook",
        (
            Check("webhook-configuration", webhook_calls.configuration),
            Check("webhook-answers", webhook_calls.answers),
        ),
    ),
    Section(
        "Certificates",
        (Check("trust", webhook_trust.trusted), Check("certificate", webhook_trust.serving)),
    ),
    Section(
        "Reconciler",
        (
            Check("leader", reconciler_health.leads),
            Check("settings", reconciler_health.settings),
            Check("autoscaler", reconciler_health.autoscaler, quiet=True),
            Check("provisioner", reconciler_health.provisioner),
            Check("fence", permissions.fence, quiet=True),
            Check("teams", configured_teams.teams),
        ),
    ),
    Section("Rights", (Check("rights", permissions.ours),)),
    Section(
        "Training jobs",
        (
            Check("stuck", stuck_jobs.stuck),
            Check("requests", stuck_jobs.unrequested),
            Check("never", stuck_jobs.never),
            Check("topology", stuck_jobs.topologies),
            Check("drain", stuck_jobs.drains, quiet=True),
            Check("nodes", stuck_jobs.on_lost_nodes, quiet=True),
            Check("terminating", stuck_pods.terminating),
            Check("scheduler", stuck_pods.ignored),
            Check("shared-gpus", stuck_pods.uncounted_gpus),
            Check("budgets", eviction_budgets.overlaps, quiet=True),
            Check("kubexec", stuck_jobs.consent),
            Check("namespaces", misplaced_keys.namespaces),
            Check("ignored", misplaced_keys.ignored),
            Check("default-priority", stuck_jobs.default_priorities, quiet=True),
            Check("keys", misplaced_keys.unheeded),
            Check("cronjobs", misplaced_keys.cron_jobs),
            Check("paused", misplaced_keys.paused_by_controllers),
            Check("leftovers", orphans.orphans),
            Check("deleted", orphans.held),
        ),
    ),
    Section("Your rights", (Check("your-rights", permissions.yours),)),
)


def run_checks(connect: Callable[[], ClusterConnection], now: datetime) -> Iterator[SectionResult]:
    """Run the sections in order, up to the first in which a vital check fails."""
    try:
        context = CheckContext(asking_once(connect()), now)
    except EdlError as error:
        yield SectionResult(
            SECTIONS[0].title, (_of_error(error).named(SECTIONS[0].checks[0].name),), cut_short=True
        )
        return
    for section in SECTIONS:
        results = run_section(section, context)
        yield results
        if results.cut_short:
            return


def run_section(section: Section, context: CheckContext) -> SectionResult:
    """Run one section, up to a vital check that fails."""
    results: list[CheckResult] = []
    for check in section.checks:
        latest = [
            result.named(check.name, context.connection.scope)
            for result in _results_of(check, context)
        ]
        results.extend(latest)
        if check.vital and any(result.verdict is Verdict.FAILURE for result in latest):
            return SectionResult(section.title, tuple(results), cut_short=True)
    return SectionResult(section.title, tuple(results))


def _results_of(check: Check, context: CheckContext) -> Iterator[CheckResult]:
    """Run a check; an error becomes a finding."""
    try:
        yield from check.run(context)
    except EdlError as error:
        if not (check.quiet and isinstance(error, Forbidden)):
            yield _of_error(error)


def _of_error(error: EdlError) -> CheckResult:
    """The finding for an error: a warning if the user lacks a right, otherwise a failure."""
    if isinstance(error, Forbidden) and error.status != 401:  # noqa: PLR2004 - HTTP
        fix = IN_A_NAMESPACE if isinstance(error, NamespaceUnreadable) else AS_ADMINISTRATOR
        return CheckResult(Verdict.WARNING, str(error), fix, unchecked=True)
    if isinstance(error, Unreachable):
        return failure(str(error), FixCommand("kubectl config get-contexts; kubectl cluster-info"))
    return failure(str(error), FixCommand("kubectl config view --minify"))
