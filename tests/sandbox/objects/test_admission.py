"""The API server tells webhooks who it is."""

from datetime import UTC, datetime
from pathlib import Path

import yaml

from sandbox.layout import Layout
from sandbox.objects import admission
from sandbox.processes import pki


def test_both_plugins_show_the_api_servers_own_certificate_to_every_webhook(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    pki.issue(layout.pki, datetime.now(UTC))
    admission.write(layout)
    plugins = yaml.safe_load(layout.admission.read_text())["plugins"]
    assert [plugin["name"] for plugin in plugins] == [
        "MutatingAdmissionWebhook",
        "ValidatingAdmissionWebhook",
    ]
    (named,) = {plugin["configuration"]["kubeConfigFile"] for plugin in plugins}
    (user,) = yaml.safe_load(Path(named).read_text())["users"]
    assert user["name"] == "*"
    assert all(Path(file).is_file() for file in user["user"].values())
