from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from dev.installation import Installation
from dev.run import _COMMANDS, NAME
from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from sandbox.cluster import Cluster


class Bare:
    """A cluster without an installation: no namespace is found, and no token is made."""

    def kubectl(self, *args: str) -> str:
        if "--ignore-not-found" in args:
            return ""
        raise SandboxError('error: failed to create token: namespaces "edl-system" not found')


def test_a_reconciler_says_that_the_webhook_comes_first(tmp_path: Path) -> None:
    installation = Installation(cast("Cluster", Bare()), tmp_path, 1, 3, {NAME: 2})
    with pytest.raises(SandboxError, match="make run-webhook"):
        _COMMANDS[NAME](installation)
