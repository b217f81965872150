"""Monitoring of kubectl-edl: ServiceMonitors, alerts and a Grafana dashboard.

The metrics' names are those of `reconciler/metrics/` and `webhook/webhook_metrics.py`; a test runs
every query against a real Prometheus.
"""

import json
from pathlib import Path
from typing import Final

import yaml

from edl import contract
from manifests.documents import HERE
from manifests.monitoring.grafana import dashboard

COMPONENT: Final = HERE / "components" / "monitoring"
RULES: Final = COMPONENT / "rules.yaml"
DASHBOARD: Final = HERE / "monitoring" / "dashboard.json"
CONFIG_MAP: Final = COMPONENT / "dashboard.yaml"
"""The dashboard as a ConfigMap for Grafana's sidecar, which finds it by its label."""


def rendered() -> dict[Path, str]:
    """The texts of the generated files, by path."""
    text = json.dumps(dashboard(), indent=2) + "\n"
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "edl-dashboard",
            "namespace": "edl-system",
            "labels": {
                "app.kubernetes.io/part-of": contract.MANAGED_BY,
                contract.INSTALLED: "true",
                "grafana_dashboard": "1",
            },
        },
        "data": {"kubectl-edl.json": json.dumps(dashboard(), separators=(",", ":"))},
    }
    header = "# Written by `python -m manifests.monitoring`.\n"
    return {DASHBOARD: text, CONFIG_MAP: header + yaml.safe_dump(config_map, sort_keys=False)}
