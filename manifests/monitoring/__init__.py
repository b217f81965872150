"""What watches kubectl-edl: ServiceMonitors, alerts and a Grafana dashboard.

The names of metrics are those of `reconciler/metrics/` and `webhook/webhook_metrics.py`; a test
asks a real Prometheus each of these questions.
"""

import json
from pathlib import Path
from typing import Final

import yaml

from manifests.documents import HERE
from manifests.monitoring.grafana import dashboard

COMPONENT: Final = HERE / "components" / "monitoring"
RULES: Final = COMPONENT / "rules.yaml"
DASHBOARD: Final = HERE / "monitoring" / "dashboard.json"
CONFIG_MAP: Final = COMPONENT / "dashboard.yaml"
"""The same for Grafana's sidecar, which looks for the label."""


def rendered() -> dict[Path, str]:
    """The files that are made from the table of panels, with their texts."""
    text = json.dumps(dashboard(), indent=2) + "\n"
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "edl-dashboard",
            "namespace": "edl-system",
            "labels": {"app.kubernetes.io/part-of": "kubectl-edl", "grafana_dashboard": "1"},
        },
        "data": {"kubectl-edl.json": json.dumps(dashboard(), separators=(",", ":"))},
    }
    header = "# Written by `python -m manifests.monitoring`.\n"
    return {DASHBOARD: text, CONFIG_MAP: header + yaml.safe_dump(config_map, sort_keys=False)}
