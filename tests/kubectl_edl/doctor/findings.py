"""Findings of `doctor` on a cluster in memory."""

import json

from edl.writes import Json
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed, target
from tests.kubectl_edl.stage import Stage

ASK = "ask a cluster administrator to run: "
WEBHOOKS = "MutatingWebhookConfiguration"


def checked(stage: Stage, *args: str) -> dict[str, list[Json]]:
    """The findings by the name of their check."""
    found = json.loads(stage.run("doctor", "-o", "json", *args).out)
    checks: dict[str, list[Json]] = {}
    for one in found["checks"]:
        checks.setdefault(one["name"], []).append(one)
    return checks


def only(stage: Stage, check: str) -> tuple[str, str, str]:
    (one,) = checked(stage)[check]
    return one["result"], one["message"], one["remediation"]


def beside(server: FakeApi) -> Stage:
    """Webhook and reconciler run outside of the cluster, as in a sandbox."""
    stage = installed(Stage(), server)
    for name in ("edl-webhook", "edl-reconciler"):
        stage.cluster.delete(target("Deployment", name))
    stage.cluster.patch(target("Secret", "edl-webhook-tls"), {"data": {"tls.crt": None}})
    for kind in (WEBHOOKS, "ValidatingWebhookConfiguration"):
        webhooks = stage.cluster.get(target(kind, "edl"))["webhooks"]
        for one in webhooks:
            one["clientConfig"] |= {"url": "https://127.0.0.1:8443/mutate", "service": None}
        stage.cluster.patch(target(kind, "edl"), {"webhooks": webhooks})
    return stage


def managed(manager: str, *fields: str, entry: str = "jobs.edl.dev") -> Json:
    """What a client owns of one entry of a webhook configuration."""
    own: Json = {f"f:{field}": {} for field in fields}
    return {"manager": manager, "fieldsV1": {"f:webhooks": {f'k:{{"name":"{entry}"}}': own}}}


def taken(others: list[Json]) -> set[str]:
    entries = (fields for one in others for fields in one["fieldsV1"]["f:webhooks"].values())
    return {field.removeprefix("f:") for fields in entries for field in fields}


def named(kind: str, name: str, **more: Json) -> Json:
    """With a misspelt framework label."""
    labels = {"edl.dev/framwork": "none"}
    return {"kind": kind, "metadata": {"name": name, "labels": labels}, **more}
