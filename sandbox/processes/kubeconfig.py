"""Kubeconfigs as single files that embed their certificates, as kind and k3d write them."""

import base64
from pathlib import Path

import yaml

from sandbox.layout import Layout


def kubeconfig(layout: Layout, server: str, client: str) -> str:
    """A kubeconfig for one of pki.CLIENTS; its context is named after the sandbox's folder."""
    name = f"sandbox-{layout.folder.name}"
    user = {
        "client-certificate-data": _base64(layout.certificate(client)),
        "client-key-data": _base64(layout.key(client)),
    }
    cluster = {"server": server, "certificate-authority-data": _base64(layout.ca)}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        sort_keys=False,
    )


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
