"""`kubectl apply` of an object that does not exist yet, as the one request that it comes down to.

A kubectl costs a sixth of a second of processor time before it asks anything: for hundreds of
manifests more than the rest of their tests. What it stores is the same, to the name of the manager
and the annotation by which a later `kubectl apply` knows what was said before.
"""

import json
import os
from pathlib import Path
from typing import Final

from edl.errors import EdlError
from edl.kube.api.api_paths import resource_path
from edl.kube.api.transport import Transport
from edl.kube.auth.credentials import log_in
from edl.kube.cluster import RESOURCES
from edl.writes import Json

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OPTIONS: Final = "?fieldManager=kubectl-client-side-apply&fieldValidation=Strict"
_SECONDS: Final = 60.0


class FirstApply:
    """Creates objects in one namespace of the kubeconfig's cluster."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._transport = Transport(log_in(str(kubeconfig), None, os.environ))
        self._namespace = namespace

    def __call__(self, manifest: Json) -> bool:
        """Whether it was created; if not, kubectl knows what to do, or why it is refused."""
        resource = RESOURCES.get(manifest["kind"])
        if resource is None or resource.api_version != manifest["apiVersion"]:
            return False
        if manifest["metadata"].get("namespace", self._namespace) != self._namespace:
            return False
        namespace = self._namespace if resource.namespaced else ""
        body = json.dumps(applied(manifest, namespace)).encode()
        path = resource_path(resource.kind, namespace) + _OPTIONS
        try:
            return self._transport.send("POST", path, _SECONDS, body).status == 201
        except EdlError:
            return False


def applied(manifest: Json, namespace: str) -> Json:
    """What kubectl sends: with the namespace, and what was said as an annotation."""
    place = {"namespace": namespace} if namespace else {}
    metadata = manifest["metadata"] | place
    notes = {
        name: text
        for name, text in (metadata.get("annotations") or {}).items()
        if name != LAST_APPLIED
    }
    said = manifest | {"metadata": metadata | {"annotations": notes}}
    return said | {"metadata": metadata | {"annotations": notes | {LAST_APPLIED: _record(said)}}}


def _record(said: Json) -> str:
    """JSON to the letter of Go's encoder, which escapes what HTML would read as a tag."""
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for letter in "&<>":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return f"{text}\n"
