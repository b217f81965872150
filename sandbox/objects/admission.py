"""The API server's client certificate, for webhooks that require one.

kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers: to authenticate
API servers.
"""

import yaml

from sandbox.files import write_whole
from sandbox.layout import Layout
from sandbox.processes.pki import SERVER

_GROUP = "apiserver.config.k8s.io/v1"
_PLUGINS = ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")
_EVERY_WEBHOOK = "*"


def write(layout: Layout) -> None:
    """Write the file for --admission-control-config-file, and the kubeconfig that it names."""
    user = {
        "client-certificate": str(layout.certificate(SERVER)),
        "client-key": str(layout.key(SERVER)),
    }
    identities = {
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{"name": _EVERY_WEBHOOK, "user": user}],
    }
    file = layout.client_config("webhooks")
    write_whole(file, yaml.safe_dump(identities))
    plugin = {
        "apiVersion": _GROUP,
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(file),
    }
    plugins = [{"name": name, "configuration": plugin} for name in _PLUGINS]
    configuration = {"apiVersion": _GROUP, "kind": "AdmissionConfiguration", "plugins": plugins}
    write_whole(layout.admission, yaml.safe_dump(configuration))
