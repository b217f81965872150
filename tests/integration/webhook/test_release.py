"""The release file, judged by a real API server and by real kustomize."""

import subprocess
from pathlib import Path

import pytest
import yaml

from edl.writes import Json
from manifests import render
from tests.integration.support.webhook import Webhook

pytestmark = pytest.mark.integration


def key(document: Json) -> tuple[str, str]:
    return document["kind"], document["metadata"]["name"]


def test_kustomize_builds_what_is_released(webhook: Webhook) -> None:
    built = webhook.cluster.kubectl("kustomize", str(render.BASE))
    assert sorted(yaml.safe_load_all(built), key=key) == sorted(render.load(), key=key)


def test_the_api_server_takes_the_release_without_a_warning(webhook: Webhook) -> None:
    """Unknown fields are errors here, and pods below the restricted standard are warned of."""
    done = subprocess.run(
        [
            *(webhook.cluster.kubectl_path, "apply", "--dry-run=server", "--validate=strict"),
            *("--server-side", "--force-conflicts", "-f", "-"),
        ],
        input=render.release(),
        env=webhook.cluster.kubectl_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(render.load())


def test_the_pods_of_both_deployments_are_admitted_and_run(
    webhook: Webhook, tmp_path: Path
) -> None:
    """Pod security, the critical priority class and its quota, on nodes that play a kubelet."""
    deployments = [
        each for each in render.load() if key(each)[0] in ("Deployment", "ResourceQuota")
    ]
    path = tmp_path / "deployments.yaml"
    path.write_text(render.to_yaml(deployments))
    webhook.cluster.kubectl("apply", "-f", str(path))
    try:
        for name in ("edl-webhook", "edl-reconciler"):
            rollout = ("rollout", "status", "-n", "edl-system", f"deployment/{name}")
            printed = webhook.cluster.kubectl(*rollout, "--timeout=60s")
            assert "successfully rolled out" in printed
    finally:
        webhook.cluster.kubectl("delete", "-f", str(path), "--wait=false")
