import os
import sys
from pathlib import Path

import pytest

from dev.demo.story import plugin_path


def test_kubectl_finds_the_plugin_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert plugin_path().split(os.pathsep) == [str(Path(sys.executable).parent), "/usr/bin"]
