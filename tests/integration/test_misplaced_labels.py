"""Labels that do nothing where they stand are told at `kubectl apply`, by the real API server."""

import json
from pathlib import Path

import pytest

from edl.writes import Json
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration
LABELS = {"edl.dev/framework": "pytorch", "edl.dev/max": "4"}


def applied(stage: Stage, manifest: Json, folder: Path) -> str:
    """The warnings of an apply that succeeds."""
    file = folder / "manifest.json"
    file.write_text(json.dumps(manifest))
    return stage.kubectl_warnings("apply", "-f", str(file))


def plain(name: str, **labels: str) -> Json:
    """An ordinary Job with our labels on its pods alone."""
    manifest = elastic(name)
    manifest["metadata"]["labels"] = labels
    manifest["spec"] |= {"suspend": True}
    manifest["spec"]["template"]["metadata"] = {"labels": LABELS}
    return manifest


def test_labels_of_the_pods_alone_are_told_when_a_job_is_created(
    installed: Stage, tmp_path: Path
) -> None:
    said = applied(installed, plain("alone", team="vision"), tmp_path)
    assert said == (
        "Warning: edl.dev/framework, edl.dev/max do nothing in spec.template: write this on the "
        "Job's own metadata\n"
    )
    assert "edl.dev/framework" not in installed.job("alone")["metadata"]["labels"]
    assert applied(installed, plain("alone", team="nlp"), tmp_path) == "", "once is enough"


def test_a_job_without_labels_has_those_of_its_pods_and_is_elastic(
    installed: Stage, tmp_path: Path
) -> None:
    assert "do nothing" not in applied(installed, plain("bare"), tmp_path)
    assert installed.job("bare")["metadata"]["labels"]["edl.dev/framework"] == "pytorch"


def test_a_deployment_with_the_label_on_its_pods_is_told_when_it_is_created(
    installed: Stage, tmp_path: Path
) -> None:
    template = plain("web")["spec"]["template"]
    template["metadata"] = {"labels": LABELS | {"app": "web"}}
    template["spec"].pop("restartPolicy", None)
    web: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    assert applied(installed, web, tmp_path) == (
        "Warning: edl.dev/framework in its pod template: pods of a Deployment are refused with it, "
        "because only Jobs are elastic: remove it, or write a Job\n"
    )
    web["spec"] |= {"minReadySeconds": 1}
    assert applied(installed, web, tmp_path) == "", "once is enough"
    del template["metadata"]["labels"]["edl.dev/framework"]
    web["metadata"] = {"name": "other", "labels": {"app": "web"}}
    assert applied(installed, web, tmp_path) == ""
    template["metadata"]["labels"] |= LABELS
    assert "pods of a Deployment are refused with it" in applied(installed, web, tmp_path)
    web["metadata"] = {"name": "common", "labels": LABELS | {"app": "web"}}
    assert "pods of a Deployment are refused with it" in applied(installed, web, tmp_path)


def test_labels_of_the_pods_alone_are_told_when_a_cron_job_is_created(
    installed: Stage, tmp_path: Path
) -> None:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": plain("unused")["spec"]}
    cron_job: Json = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": template},
    }
    assert applied(installed, cron_job, tmp_path) == (
        "Warning: spec.jobTemplate: edl.dev/framework, edl.dev/max do nothing in spec.template: "
        "write this on the Job's own metadata\n"
    )
