"""`python -m tests.sandbox_state`: the file that is there when the sandbox's own tests have passed.

Those with the mark `sandbox` test no part of the product but what other tests stand on. `make test`
runs them when the sandbox, one of them or the machine has changed since they passed, and makes the
file when they have passed. The file's name is a digest of all that they depend on.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sandbox.paths import places
from sandbox.releases import VARIABLE

ROOT: Final = Path(__file__).parents[1]
_PATTERNS: Final = (
    "sandbox/**/*",
    "tests/integration/test_sandbox*.py",
    "tests/e2e/test_images.py",
    "tests/e2e/test_real_node*.py",
    "tests/integration/conftest.py",
    "tests/e2e/conftest.py",
    "tests/e2e/support/busybox.py",
    "tests/e2e/support/commands.py",
    "tests/e2e/support/machine.py",
    "tests/temporary_namespace.py",
    "tests/waiting.py",
)


def files(root: Path) -> list[Path]:
    """The sources of the sandbox and of its own tests, in order."""
    found = {path for pattern in _PATTERNS for path in root.glob(pattern) if path.is_file()}
    return sorted(
        path for path in found if "__pycache__" not in path.parts and path.suffix != ".md"
    )


def passed(root: Path, environ: Mapping[str, str]) -> Path:
    """The file for the sandbox as it is, on this machine, or on the cluster of EDL_KUBECONFIG."""
    digest = hashlib.sha256()
    for part in _parts(root, environ):
        digest.update(len(part).to_bytes(8, "big") + part)
    return places(environ).cache / "passed" / f"sandbox-{digest.hexdigest()[:16]}"


def _parts(root: Path, environ: Mapping[str, str]) -> Iterator[bytes]:
    yield sys.version.encode()
    yield platform.release().encode()
    yield environ.get(VARIABLE, "").encode()
    if named := environ.get("EDL_KUBECONFIG"):
        yield Path(named).expanduser().read_bytes()
    for path in files(root):
        yield str(path.relative_to(root)).encode()
        yield path.read_bytes()


if __name__ == "__main__":
    sys.stdout.write(f"{passed(ROOT, os.environ)}\n")
