"""`python -m reconciler`: its options, and a graceful shutdown on SIGTERM and SIGINT."""

import signal
import socket
import uuid
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import click
import msgspec
from msgspec.structs import replace
from prometheus_client import disable_created_metrics

from certs.rotation_loop import CertificateRotation
from certs.secrets import usual
from edl import contract
from edl.durations import duration_text
from edl.errors import EdlError
from edl.kube import process_logging
from edl.kube.api.client import ApiClient, connect
from edl.kube.api.server_clock import awake_or_not
from edl.kube.auth.kubeconfig import ConfigOverrides
from edl.kube.cluster import Cluster
from edl.kube.duration_range import DurationRange
from edl.kube.option_group import group, option, option_group
from edl.model import ObjectRef
from edl.planner import published_settings
from edl.planner.decide import decide
from edl.planner.plan_cache import PlanCache
from reconciler.decision_options import planning_options
from reconciler.leader_election import Clocks, LeaderElector, LeaseSettings
from reconciler.manager import Manager, ProbeAddress
from reconciler.memory.unserved_requests_warning import with_unserved_warning
from reconciler.publication.applied_teams import AppliedTeams
from reconciler.publication.queue_insights import QueueInsights, Stopwatches
from reconciler.publication.queue_publisher import QueuePublisher
from reconciler.webhook_certificates import (
    CertificateMetrics,
    CertificateOptions,
    WebhookCertificates,
)

_ENDINGS: Final = (signal.SIGTERM, signal.SIGINT)


@option_group
class InstallationOptions:
    """The cluster, and the namespace in it."""

    kubeconfig: str | None = option(
        help="Path to the kubeconfig file. Default: kubectl's, or the pod's ServiceAccount."
    )
    context: str | None = option(help="Name of the kubeconfig context to use.")
    namespace: str = option(
        envvar=contract.SYSTEM_NAMESPACE_ENV,
        default=contract.SYSTEM_NAMESPACE,
        help="Namespace of the installation, with its Lease, teams and certificates.",
    )
    ignored_namespace: tuple[str, ...] = option(
        metavar="NAMESPACE",
        help="Namespace whose Jobs and pods are not managed, as the webhook ignores it too."
        " kube-system and the namespace of the installation never are.",
    )


def _lease_option(default: float, text: str) -> Any:  # noqa: ANN401 - as `option`
    shown = duration_text(timedelta(seconds=default))
    return option(type=DurationRange(3600), default=shown, fallback=default, help=text)


@option_group
class ProcessOptions:
    """Leader election, the served pages and the log."""

    leader_elect: bool = option(
        default=True,
        help="Act only while holding the Lease, so that one of several replicas leads.",
    )
    identity: str | None = option(
        metavar="NAME",
        help="Prefix of the holder's name in the Lease; a suffix of this process follows. "
        "Default: the host's name.",
    )
    lease_duration: float = _lease_option(
        LeaseSettings().lease_duration,
        "Time after which a Lease that was not renewed may be acquired; in whole seconds.",
    )
    renew_deadline: float = _lease_option(
        LeaseSettings().renew_deadline,
        "How long a leader that cannot renew its Lease goes on.",
    )
    retry_period: float = _lease_option(
        LeaseSettings().retry_period,
        "Time between attempts to acquire or renew the Lease.",
    )
    metrics_host: str = option(
        default="127.0.0.1",
        help="Address for probes and metrics; :: for all of IPv4 and IPv6, as in a pod.",
    )
    metrics_port: int = option(
        type=click.IntRange(0, 65535),
        default=8081,
        help="Port for /metrics, /healthz and /readyz; 0 chooses a free one.",
    )
    debug_plan: bool = option(
        default=False, help="Serve the last plan at /debug/plan, on the metrics port."
    )
    log_level: str = option(
        type=click.Choice(process_logging.LEVELS), default="info", help="Least severe level to log."
    )
    log_format: str = option(
        type=click.Choice(list(process_logging.FORMATS)),
        default="json",
        help="Format of log lines.",
    )


class ReconcilerOptions(msgspec.Struct, frozen=True):
    """The options, as they were given."""

    installation: InstallationOptions
    planning: published_settings.Settings
    certificates: CertificateOptions
    process: ProcessOptions


@click.command(
    context_settings={
        "auto_envvar_prefix": "EDL",
        "help_option_names": ["-h", "--help"],
        "show_default": True,
    }
)
@group(InstallationOptions, "installation")
@planning_options
@group(CertificateOptions, "certificates")
@group(ProcessOptions, "process")
def main(**given: Any) -> None:  # noqa: ANN401 - click's own
    """Queue, start and resize the training jobs of a cluster."""
    options = ReconcilerOptions(**given)
    flags = options.process
    process_logging.log_to_stderr(flags.log_level, flags.log_format)
    disable_created_metrics()  # type: ignore[no-untyped-call]
    # Blocked before any thread starts, so that `sigwait` gets all signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        process = _process(options)
        process.start(ProbeAddress(flags.metrics_host, flags.metrics_port, debug=flags.debug_plan))
        signal.sigwait(_ENDINGS)
    except (EdlError, ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)  # a second one ends at once
    process.stop()


def _process(options: ReconcilerOptions) -> Manager:
    place = options.installation
    settings = replace(options.planning, ignored_namespaces=place.ignored_namespace)
    overrides = ConfigOverrides(place.context or "", system_namespace=place.namespace)
    api = connect(place.kubeconfig, overrides)
    clocks = Clocks(now=lambda: datetime.now(UTC), monotonic=awake_or_not)
    plan_cache = PlanCache()
    plan = partial(
        decide, policy=settings.policy_to_apply(), limits=settings.limits, plan_cache=plan_cache
    )
    elector = _elector(options, api, clocks) if options.process.leader_elect else None
    if elector:
        elector.publish({contract.SETTINGS: published_settings.render(settings)})
    deciding = with_unserved_warning(plan, settings.limits)
    process = Manager(api, deciding, clocks, elector, place.ignored_namespace)
    queue = _queue(settings, process.leader_only(api), process, elector)
    process.add_background_task("queue", queue)
    process.add_background_task("teams", _teams(process.leader_only(api), process))
    gauges = CertificateMetrics(process.metrics.registry)
    if options.certificates.certificates:
        certificates = _certificates(options, api, clocks, process, gauges)
        process.add_background_task("certificates", certificates)
    return process


def _certificates(
    options: ReconcilerOptions,
    api: ApiClient,
    clocks: Clocks,
    process: Manager,
    gauges: CertificateMetrics,
) -> WebhookCertificates:
    names, timings = options.certificates.certificate_name, options.certificates.timings
    installation = usual(*names, namespace=options.installation.namespace)
    leader_only = process.leader_only(api)
    rotation = CertificateRotation(leader_only, installation, timings, clocks.monotonic)
    return WebhookCertificates(rotation, gauges, clocks.now, timings.settles)


def _queue(
    settings: published_settings.Settings,
    cluster: Cluster,
    process: Manager,
    elector: LeaderElector | None,
) -> QueuePublisher:
    def confirm(moment: datetime) -> None:
        if elector:
            elector.publish({contract.QUEUE_AS_OF: moment.isoformat(timespec="seconds")})

    return QueuePublisher(
        cluster,
        lambda: process.metrics.latest.decided,
        QueueInsights(settings, Stopwatches(awake_or_not)),
        confirm,
        awake_or_not,
    )


def _teams(cluster: Cluster, process: Manager) -> AppliedTeams:
    invalid = process.metrics.state.teams_document_invalid
    return AppliedTeams(cluster, lambda: process.team_source.reading, invalid)


def _elector(options: ReconcilerOptions, api: ApiClient, clocks: Clocks) -> LeaderElector:
    """The elector. Its requests time out early enough to retry before the leadership expires."""
    flags = options.process
    settings = LeaseSettings(flags.lease_duration, flags.renew_deadline, flags.retry_period)
    lease = ObjectRef("Lease", options.installation.namespace, contract.RECONCILER_LEASE)
    one_of_two = api.once(settings.renew_deadline / 2)
    return LeaderElector(one_of_two, lease, holder_identity(flags.identity), clocks, settings)


def holder_identity(name: str | None) -> str:
    """The holder's name in the Lease: two processes never share it, as both would lead.

    A process that was killed and started again waits for its own Lease to expire: requests of the
    killed one may still take effect.
    """
    return f"{name or socket.gethostname()}_{uuid.uuid4().hex[:8]}"
