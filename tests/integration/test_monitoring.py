"""What the dashboard and the alerts ask is answered by what we serve, in a real Prometheus."""

import json
import math
import os
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.installation import Installation
from edl import contract
from edl.writes import Json
from sandbox.builds.build import BuildEnvironment
from sandbox.builds.debian import environment, unpacked
from sandbox.errors import BuildError
from sandbox.layout import free_ports
from sandbox.paths import places
from tests.integration.support.stage import Stage
from tests.manifests import monitoring_questions
from tests.waiting import until

pytestmark = pytest.mark.integration

WITHIN = 90.0
_WINDOW = "30s"


@pytest.fixture(scope="module")
def programs() -> dict[str, str]:
    """What lets Debian's prometheus and promtool run."""
    build_env = BuildEnvironment(places(os.environ).cache, os.environ)
    try:
        prefix = unpacked("prometheus", build_env, lambda _: None)
    except BuildError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return environment(prefix)


class Prometheus:
    """One that scrapes webhook and reconciler each second."""

    def __init__(self, installation: Installation, programs: dict[str, str], folder: Path) -> None:
        (port,) = free_ports(1)
        self._url = f"http://127.0.0.1:{port}"
        rules = folder / "rules.yaml"
        rules.write_text(yaml.safe_dump(monitoring_questions.groups()))
        config = folder / "prometheus.yaml"
        config.write_text(yaml.safe_dump(_config(installation, rules)))
        (program,) = (
            Path(place) / "prometheus"
            for place in programs["PATH"].split(os.pathsep)
            if (Path(place) / "prometheus").exists()
        )
        installation.cluster.launch(
            "prometheus",
            [
                str(program),
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            programs,
        )

    def query(self, text: str) -> list[float]:
        """The values of an instant query; raises AssertionError for one that is not valid."""
        asked = urllib.parse.urlencode({"query": text})
        result = self.get(f"/api/v1/query?{asked}")["result"]
        return [float(series["value"][1]) for series in result]

    def get(self, path: str) -> Json:
        url = f"{self._url}{path}"
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - it is ours
            body: dict[str, Any] = json.load(answer)
        assert body["status"] == "success", body
        data: Json = body["data"]
        return data

    def scrapes(self) -> bool:
        """Whether every target was read twice, so that a rate can be told."""
        try:
            counts = self.query("count_over_time(up[1m])")
            return len(counts) == 2 and min(counts) >= 2 and min(self.query("up")) == 1
        except OSError:
            return False


def _config(installation: Installation, rules: Path) -> Json:
    (reconciler,) = installation.reconcilers.values()
    return {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {
                "job_name": "edl-reconciler",
                "static_configs": [{"targets": [f"127.0.0.1:{reconciler}"]}],
            },
            {
                "job_name": "edl-webhook",
                "static_configs": [{"targets": [f"127.0.0.1:{installation.probe_port}"]}],
            },
        ],
    }


@pytest.fixture(scope="module")
def prometheus(
    installation: Installation,
    programs: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Prometheus]:
    found = Prometheus(installation, programs, tmp_path_factory.mktemp("prometheus"))
    try:
        until(found.scrapes)
        yield found
    finally:
        installation.cluster.stop("prometheus")


def job(name: str, cpu: str, **labels: str) -> Json:
    named = {contract.PREFIX + label: text for label, text in labels.items()}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {contract.FRAMEWORK: "none", **named}},
        "spec": {
            "parallelism": int(labels["min"]),
            "completions": 64,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


@pytest.fixture
def lab(installed: Stage) -> Iterator[None]:
    """A team of this namespace, which borrows. A cluster has one document: it goes afterwards."""
    cluster = installed.cluster
    team = {"name": "lab", "namespaces": [installed.namespace], "guaranteed": {"cpu": "300m"}}
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": contract.TEAMS_CONFIG_MAP, "namespace": "edl-system"},
        "data": {contract.TEAMS_KEY: yaml.safe_dump({"teams": [team]})},
    }
    cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump(document))
    try:
        yield
    finally:
        cluster.kubectl("-n", "edl-system", "delete", "configmap", contract.TEAMS_CONFIG_MAP)


def life(stage: Stage) -> None:
    """A start, a growth, a shrink, and one that waits."""
    stage.apply(job("sweep", "100m", min="1", max="6"))
    until(lambda: stage.running("sweep") == 6)
    stage.annotate("sweep", replicas="2")
    until(lambda: stage.running("sweep") == 2)
    stage.annotate("sweep", replicas=None)
    until(lambda: stage.running("sweep") == 6)
    stage.apply(job("vast", "900", min="1", max="1"))


@pytest.mark.usefixtures("lab")
def test_every_question_of_the_dashboard_has_an_answer(
    prometheus: Prometheus, installed: Stage
) -> None:
    life(installed)
    asked = {
        name: text.replace(monitoring_questions.RATE_INTERVAL, _WINDOW)
        for name, text in monitoring_questions.queries().items()
    }
    open_questions = dict(asked)

    def answered() -> bool:
        for name in list(open_questions):
            values = prometheus.query(asked[name])
            if values and any(math.isfinite(value) for value in values):
                del open_questions[name]
        return not open_questions

    ends = time.monotonic() + WITHIN
    while not answered() and time.monotonic() < ends:
        time.sleep(0.5)
    assert open_questions == {}
    assert len(asked) >= 40
    until(lambda: prometheus.query("max(edl_queued_jobs)")[0] >= 1)
    until(lambda: prometheus.query('max(edl_waiting_jobs{reason="NeverFits"})')[0] >= 1)
    assert prometheus.query("sum(edl_leading)") == [1]


@pytest.mark.usefixtures("lab")
def test_every_alert_asks_for_what_there_is_and_none_is_raised_where_all_is_well(
    prometheus: Prometheus,
) -> None:
    loaded = {
        rule["name"]: rule
        for group in prometheus.get("/api/v1/rules")["groups"]
        for rule in group["rules"]
    }
    assert list(loaded) == [alert["alert"] for alert in monitoring_questions.alerts()]
    until(lambda: all(healths(prometheus)))
    for alert in monitoring_questions.alerts():
        names = set(re.findall(r"\bedl_\w+", alert["expr"]))
        assert names, alert["alert"]
        until(partial(asks_for_what_there_is, prometheus, names))
        until(partial(is_quiet, prometheus, alert["expr"]))


def asks_for_what_there_is(prometheus: Prometheus, names: set[str]) -> bool:
    return all(prometheus.query(f"count({name})") for name in names)


def is_quiet(prometheus: Prometheus, expression: str) -> bool:
    return prometheus.query(expression) == []


def healths(prometheus: Prometheus) -> list[bool]:
    groups = prometheus.get("/api/v1/rules")["groups"]
    return [rule["health"] == "ok" for group in groups for rule in group["rules"]]


# What each alert is raised by: series as promtool writes them, a value a minute.
_RAISED_BY = {
    "EdlNoLeader": {'edl_leading{pod="a"}': "0x60", 'edl_leading{pod="b"}': "0x60"},
    "EdlNoDecisions": {"edl_rounds_total": "7x60"},
    "EdlWatchSilent": {
        'edl_last_event_age_seconds{kind="Pod",pod="a"}': "0+60x60",
        'edl_last_event_age_seconds{kind="Pod",pod="b"}': "30x60",
    },
    "EdlReconcileErrors": {'edl_failures_total{kind="Forbidden"}': "0+30x60"},
    "EdlWritesForbidden": {
        'edl_writes_total{verb="patch",kind="Job",outcome="forbidden"}': "1x10 1+1x80",
        'edl_writes_total{verb="patch",kind="Pod",outcome="done"}': "0+9x90",
        'edl_writes_total{verb="create",kind="Service",outcome="forbidden"}': "0+1x90",
        'edl_writes_total{verb="create",kind="Service",outcome="done"}': "0+1x90",
    },
    "EdlDecisionsSlow": {
        'edl_decide_seconds_bucket{le="2.5"}': "0x60",
        'edl_decide_seconds_bucket{le="5.0"}': "0+10x60",
        'edl_decide_seconds_bucket{le="+Inf"}': "0+10x60",
    },
    "EdlQueueWaitHigh": {"edl_queue_oldest_seconds": "20000+60x60"},
    "EdlResizesStall": {
        'edl_resize_stall_seconds_bucket{le="300.0"}': "0x90",
        'edl_resize_stall_seconds_bucket{le="600.0"}': "0+10x90",
        'edl_resize_stall_seconds_bucket{le="+Inf"}': "0+10x90",
    },
    "EdlTeamsInvalid": {"edl_teams_document_invalid": "1x60"},
    "EdlTeamWaitsForGuarantee": {
        'edl_team_queued_jobs{team="a"}': "2x60",
        'edl_team_queued_jobs{team="b"}': "0x60",
        'edl_team_resources{team="a",resource="cpu",state="lent"}': "4x60",
        'edl_team_resources{team="b",resource="cpu",state="lent"}': "4x60",
    },
    "EdlWebhookDown": {"edl_leading": "1x60"},
    "EdlWebhookFailing": {'edl_webhook_reviews_total{outcome="failed"}': "0+1x60"},
    "EdlWebhookSlow": {
        'edl_webhook_review_seconds_bucket{le="1.0"}': "0x60",
        'edl_webhook_review_seconds_bucket{le="5.0"}': "0+10x60",
        'edl_webhook_review_seconds_bucket{le="+Inf"}': "0+10x60",
    },
    "EdlCertificateExpires": {
        'edl_webhook_certificate_expiry_timestamp_seconds{pod="a"}': "500000x60",
        'edl_webhook_certificate_expiry_timestamp_seconds{pod="b"}': "9000000x60",
    },
    "EdlCertificateNotKept": {"edl_webhook_certificate_failures_total": "0+6x90"},
}
_HEALTHY = {
    "edl_leading": "1x90",
    "edl_rounds_total": "0+1x90",
    'edl_failures_total{kind="Conflict"}': "0+1x90",
    "edl_queue_oldest_seconds": "600x90",
    "edl_teams_document_invalid": "0x90",
    'edl_team_queued_jobs{team="a"}': "2x90",
    'edl_team_resources{team="a",resource="cpu",state="lent"}': "0x90",
    'edl_last_event_age_seconds{kind="Pod"}': "60x90",
    'edl_webhook_reviews_total{outcome="failed"}': "0x90",
    "edl_webhook_certificate_expiry_timestamp_seconds": "9000000x90",
    "edl_webhook_certificate_failures_total": "0x90",
}


def test_each_alert_is_raised_by_what_it_is_about_and_by_nothing_else(
    programs: dict[str, str], tmp_path: Path
) -> None:
    alerts = {alert["alert"]: alert for alert in monitoring_questions.alerts()}
    assert list(_RAISED_BY) == list(alerts)
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(monitoring_questions.groups()))
    tests = [case(alerts[name], series) for name, series in _RAISED_BY.items()]
    tests += [quiet(_HEALTHY, list(alerts))]
    document = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(document))
    assert "SUCCESS" in promtool(programs, tmp_path, "check", "rules", "rules.yaml")
    assert "SUCCESS" in promtool(programs, tmp_path, "test", "rules", "tests.yaml")


def case(alert: Json, series: dict[str, str]) -> Json:
    """It is not pending only but raised after 80 minutes, whatever its annotations say then."""
    expression = f'count(ALERTS{{alertname="{alert["alert"]}", alertstate="firing"}})'
    sample = {"labels": "{}", "value": 1}
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": text} for name, text in series.items()],
        "promql_expr_test": [{"expr": expression, "eval_time": "58m", "exp_samples": [sample]}],
    }


def quiet(series: dict[str, str], names: list[str]) -> Json:
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": text} for name, text in series.items()],
        "alert_rule_test": [
            {"eval_time": "80m", "alertname": name, "exp_alerts": []} for name in names
        ],
    }


def promtool(programs: dict[str, str], folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["promtool", *words],
        cwd=folder,
        env=programs,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
