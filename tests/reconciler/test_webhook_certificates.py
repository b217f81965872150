"""The leader keeps the webhook's certificate, and nothing else does."""

import logging
from datetime import UTC, datetime, timedelta

import click
import pytest
from prometheus_client import CollectorRegistry

from certs.bundle import each_certificate
from certs.issue import issue
from certs.rotation_loop import CertificateRotation
from certs.secrets import WEBHOOK_KINDS, Installed, read_pair, rotate, usual
from certs.subject_names import service_names
from certs.verify import facts_of, is_trusted
from edl.errors import Forbidden, NotFound
from edl.kube.option_group import group
from edl.model import ObjectRef
from reconciler.leader_only_cluster import LeaderOnlyCluster, NotLeading
from reconciler.webhook_certificates import (
    CertificateMetrics,
    CertificateOptions,
    WebhookCertificates,
)
from tests.fake_cluster.cluster import FakeCluster

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
EVERY = timedelta(seconds=10)
INSTALLATION = usual()


class Duty:
    """Whether this process leads."""

    def __init__(self, *, leading: bool) -> None:
        self.leading = leading


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(lambda: NOW)
    for kind in WEBHOOK_KINDS:
        cluster.create(
            ObjectRef(kind, "", "edl"), {"webhooks": [{"name": "a", "clientConfig": {}}]}
        )
    return cluster


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def keeping(cluster: FakeCluster, duty: Duty, registry: CollectorRegistry) -> WebhookCertificates:
    rotation = CertificateRotation(LeaderOnlyCluster(cluster, duty), INSTALLATION)
    return WebhookCertificates(rotation, CertificateMetrics(registry), lambda: NOW, EVERY)


def test_a_leader_fills_the_secrets_and_measures_the_authority(
    cluster: FakeCluster, registry: CollectorRegistry
) -> None:
    kept = keeping(cluster, Duty(leading=True), registry)
    assert kept.lead() == EVERY.total_seconds()
    issuer = rotate(cluster, INSTALLATION, NOW).issuer
    kept.lead()
    assert is_trusted(read_pair(cluster, INSTALLATION.serving), issuer.trust, NOW)
    assert registry.get_sample_value("edl_trusted_authorities") == 2
    ends = facts_of(each_certificate(issuer.trust)[0]).ends.timestamp()
    assert registry.get_sample_value("edl_authority_expiry_timestamp_seconds") == ends


def test_a_process_that_does_not_lead_writes_nothing(
    cluster: FakeCluster, registry: CollectorRegistry
) -> None:
    follows = Duty(leading=False)
    kept = keeping(cluster, follows, registry)
    with pytest.raises(NotLeading):  # it was the leader when the run began
        kept.lead()
    kept.follow()
    with pytest.raises(NotFound):
        cluster.get(INSTALLATION.authority)
    assert registry.get_sample_value("edl_certificate_failures_total") == 0


def test_a_failure_is_counted_told_once_and_tried_again_with_back_off(
    registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes: list[Exception] = [Forbidden("no right", 403)] * 9 + [RuntimeError("a defect")]

    def rotation(_: datetime) -> Installed:
        raise outcomes.pop(0)

    kept = WebhookCertificates(rotation, CertificateMetrics(registry), lambda: NOW, EVERY)
    pauses = [kept.lead() for _ in range(10)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (1.0, 60.0)
    assert registry.get_sample_value("edl_certificate_failures_total") == 10
    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert [each.getMessage() for each in warnings] == [
        "cannot maintain the webhook's certificate: no right",
        "cannot maintain the webhook's certificate: RuntimeError",
    ]


def test_after_a_success_the_back_off_begins_anew(registry: CollectorRegistry) -> None:
    kept = Installed(issue(service_names("edl-webhook", "edl-system"), NOW).issuer, None, ())
    outcomes: list[Exception | Installed] = [Forbidden("no right", 403), kept] * 3

    def rotation(_: datetime) -> Installed:
        found = outcomes.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    turns = WebhookCertificates(rotation, CertificateMetrics(registry), lambda: NOW, EVERY)
    assert [turns.lead() for _ in range(6)] == [1.0, EVERY.total_seconds()] * 3


def test_a_missing_configuration_is_told_once_and_measured(
    cluster: FakeCluster, registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    kept = keeping(cluster, Duty(leading=True), registry)
    kept.lead()
    gone = ObjectRef(WEBHOOK_KINDS[0], "", "edl")
    webhooks = cluster.get(gone)["webhooks"]
    cluster.delete(gone)
    counts = []
    for _ in range(2):
        assert kept.lead() == EVERY.total_seconds(), "the rest is kept"
        counts.append(registry.get_sample_value("edl_webhook_configurations_missing"))
    cluster.create(gone, {"webhooks": webhooks})
    kept.lead()
    counts.append(registry.get_sample_value("edl_webhook_configurations_missing"))
    assert counts == [1, 1, 0]
    assert [each.getMessage() for each in caplog.records] == [
        "missing MutatingWebhookConfiguration edl: apply the installation again",
        "all webhook configurations exist",
    ]


def test_a_leadership_lost_during_a_rotation_counts_as_no_failure(
    registry: CollectorRegistry,
) -> None:
    def rotation(_: datetime) -> Installed:
        raise NotLeading("left to the new leader")

    kept = WebhookCertificates(rotation, CertificateMetrics(registry), lambda: NOW, EVERY)
    with pytest.raises(NotLeading):
        kept.lead()
    assert registry.get_sample_value("edl_certificate_failures_total") == 0


def chosen(*words: str) -> CertificateOptions:
    found: list[CertificateOptions] = []

    @click.command()
    @group(CertificateOptions, "options")
    def command(options: CertificateOptions) -> None:
        found.append(options)

    command.main(words, standalone_mode=False)
    return found[0]


def test_the_options_say_whether_for_which_names_and_how_long() -> None:
    found = chosen("--certificates", "--certificate-name", "10.0.0.1", "--certificate-days", "2")
    assert (found.certificates, found.certificate_name) == (True, ("10.0.0.1",))
    assert found.timings.lifetimes.serving == timedelta(days=2)
    assert chosen() == CertificateOptions()


@pytest.mark.parametrize("name", ["bad name", "", "-a.example", "a..example", "300.1.1.1", "*.b"])
def test_a_name_that_no_server_can_have_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(click.BadParameter, match="neither a DNS name nor an IP address"):
        chosen("--certificate-name", name)
