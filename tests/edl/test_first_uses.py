"""Structs that several threads use for the first time at once."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROUNDS = """
import importlib, sys
from threading import Barrier, Thread

sys.setswitchinterval(1e-6)
module = importlib.import_module({module!r})
for _ in range(100):
    module = importlib.reload(module)
    together = Barrier(8)

    def use():
        together.wait()
        module.{use}

    threads = [Thread(target=use) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
"""
USES = {
    "edl.kube.api.api_errors": 'status_of(b\'{"code": 500, "details": {"name": "x"}}\')',
    "edl.inject.manifest_schema": "check({'kind': 'Job', 'spec': {'template': {}}})",
    "kubectl_edl.job_views.resize_limits": "published('{\"limits\": {}}')",
}


@pytest.mark.slow
@pytest.mark.parametrize(("module", "use"), USES.items())
def test_threads_may_use_a_struct_for_the_first_time_at_once(module: str, use: str) -> None:
    """msgspec 0.22 reads a struct's fields at its first use; until then they are null pointers."""
    program = _ROUNDS.format(module=module, use=use)
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_structs_have_decoders_that_are_made_on_import() -> None:
    packages = ("edl", "webhook", "reconciler", "kubectl_edl", "certs")
    root = Path(__file__).parents[2]
    sources = [path for package in packages for path in (root / package).rglob("*.py")]
    late = re.compile(r"json\.decode\([^\n]*type=|^ +.*msgspec\.json\.Decoder\(", re.MULTILINE)
    found = {path.name: late.findall(path.read_text()) for path in sources}
    assert {name: texts for name, texts in found.items() if texts} == {
        "manifest_schema.py": ["    msgspec.json.Decoder("]
    }
