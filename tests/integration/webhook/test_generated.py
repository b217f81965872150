"""Generated Jobs and pods through the API server: our patch is never what it refuses."""

import pytest

from edl.kube.auth.credentials import log_in
from tests.fuzz import dry_runs, report
from tests.fuzz.dry_runs import Findings, Server
from tests.fuzz.generated import Generator
from tests.integration.support.webhook import Webhook
from tests.temporary_namespace import temporary

SEED = 7
SAMPLE = 8_000
"""Creations: with an update after every fourth, ten thousand."""


def found(webhook: Webhook, count: int) -> Findings:
    login = log_in(str(webhook.cluster.kubeconfig), None, {})
    with temporary(webhook.cluster) as creations, temporary(webhook.cluster) as updates:
        servers = Server(login, creations), Server(login, updates)
        return dry_runs.run(dry_runs.stage(Generator(SEED), *servers), count)


@pytest.mark.integration
def test_the_api_server_refuses_no_patch_of_ours(webhook: Webhook) -> None:
    findings = found(webhook, 100)
    assert findings.defects == []
    assert findings.counted["accepted"] > 30


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_of_ten_thousand_it_refuses_no_patch_of_ours(webhook: Webhook) -> None:
    findings = found(webhook, SAMPLE)
    figures = sorted(findings.counted.items())
    title = "Through a real API server: dry runs"
    report.write(title, [(name, f"{count:,}") for name, count in figures])
    assert findings.defects == []
    assert findings.counted["accepted"] > SAMPLE // 3
