"""Reviews as an API server sends them, for the tests of this folder."""

import base64
from typing import Any

import msgspec

from edl.writes import Json


def job(name: str = "mnist", **labels: str) -> Json:
    """A plain Job with labels of ours (`min="1"` is `edl.dev/min: "1"`); unlabelled without any."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {f"edl.dev/{label}": value for label, value in labels.items()},
        },
        "spec": {
            "parallelism": 1,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "busybox"}],
                }
            },
        },
    }


def review(manifest: Json | None, **changes: Any) -> bytes:  # noqa: ANN401 - JSON
    """An AdmissionReview about `manifest`; `changes` replace fields of its request."""
    request: Json = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "batch", "version": "v1", "kind": "Job"},
        "operation": "CREATE",
        "name": "mnist",
        "namespace": "default",
        "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
        "object": manifest,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions"},
    } | changes
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return msgspec.json.encode(envelope)


def response(body: bytes) -> Json:
    """The `response` of an AdmissionReview that came back."""
    envelope: Json = msgspec.json.decode(body)
    assert envelope["apiVersion"] == "admission.k8s.io/v1"
    assert envelope["kind"] == "AdmissionReview"
    found: Json = envelope["response"]
    return found


def operations(answer: Json) -> list[Json]:
    """The patch of a response; empty without one."""
    if "patch" not in answer:
        return []
    assert answer["patchType"] == "JSONPatch"
    found: list[Json] = msgspec.json.decode(base64.b64decode(answer["patch"]))
    return found
