"""Monitoring of kubectl-edl: ServiceMonitors, alerts and a Grafana dashboard.

The metrics' names are those of `reconciler/metrics/` and `webhook/webhook_metrics.py`; a test runs
every query against a real Prometheus.
"""

import json
from typing import Final

import yaml

from edl import contract
from manifests.documents import HERE
from manifests.monitoring.grafana import dashboard

COMPONENT: Final = HERE / "components" / "monitoring"
RULES: Final = COMPONENT / "rules.yaml"
CONFIG_MAP: Final = COMPONENT / "dashboard.yaml"
"""The dashboard as a ConfigMap for Grafana's sidecar, which finds it by its label."""


def rendered() -> str:
    """The text of the generated file."""
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
    return header + yaml.safe_dump(config_map, sort_keys=False)
