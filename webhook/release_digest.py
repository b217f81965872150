"""Identifies this release's rules: during a rollout two releases serve side by side."""

from hashlib import sha256
from pathlib import Path

import edl


def release() -> str:
    """A digest of the source of `edl`: it differs whenever a rule might."""
    root = Path(edl.__file__).parent
    digest = sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]
