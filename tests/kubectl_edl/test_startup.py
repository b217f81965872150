"""Modules that a start may not import: each takes longer than all of `--help`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edl.kube.servers import Answer, serving

HEAVY = {
    "certs",
    "cryptography",
    "edl.frameworks",
    *(f"edl.kube.{name}" for name in ("api", "auth", "cache", "decode", "state", "writer")),
    "edl.planner",
    "flask",
    "kubernetes",
    "msgspec",
    "numpy",
    "reconciler",
    "urllib3",
    "webhook",
    "yaml",
}
NEVER_FOR_STATUS = {
    "cryptography",
    "edl.convert",
    "edl.kube.auth.exec_plugin",
    "edl.planner",
    "edl.simulator",
    "edl.steps",
    "flask",
    "kubectl_edl.output.alternate_screen",
    "kubernetes",
    "numpy",
    "prometheus_client",
    "subprocess",
    "webhook",
}
READERS = {"edl.frameworks", "edl.kube.state.observe", "edl.model", "kubectl_edl.output"}
"""What is loaded while the answers are on their way."""
SCRIPT = """
import json, sys
from kubectl_edl.main import run, this_process
code = run(sys.argv[1:], this_process(), {})
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded(*args: str) -> set[str]:
    """The modules that a fresh process has after this command line."""
    command = [sys.executable, "-c", SCRIPT, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code in (0, 1)
    return set(modules)


@pytest.mark.parametrize("args", [("--help",), (), ("version",), ("completion", "bash")])
def test_commands_without_a_cluster_import_no_heavy_modules(args: tuple[str, ...]) -> None:
    assert loaded(*args) & HEAVY == set()


def test_doctor_and_certs_explain_themselves_without_cryptography() -> None:
    for args in (("doctor", "--help"), ("certs", "renew", "--help")):
        assert loaded(*args) & {"cryptography", "numpy", "urllib3"} == set()


def test_status_imports_only_what_it_needs(tmp_path: Path) -> None:
    nothing = Answer(200, {"metadata": {"resourceVersion": "1"}, "items": []})
    with serving(nothing) as (script, address):
        found = loaded("status", "--kubeconfig", kubeconfig(tmp_path, address))
    assert len(script.asked) == 4
    assert found & {"edl.kube.state.observe", "kubectl_edl.status.view"} != set()
    assert found & NEVER_FOR_STATUS == set()


def test_status_sends_requests_before_heavy_imports(tmp_path: Path) -> None:
    found = loaded("status", "--kubeconfig", f"{tmp_path}/none")
    assert "edl.kube.api.client" in found
    assert found & READERS == set()


def kubeconfig(folder: Path, address: str) -> str:
    """A context for a server without authentication."""
    written = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here"}}],
        "clusters": [{"name": "here", "cluster": {"server": address}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(written))
    return str(path)
