import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dev.demo.__main__ import demo
from dev.demo.story import plugin_path


def test_kubectl_finds_the_plugin_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert plugin_path().split(os.pathsep) == [str(Path(sys.executable).parent), "/usr/bin"]


def test_each_example_of_the_help_has_a_line_of_its_own() -> None:
    lines = CliRunner().invoke(demo, ["--help"]).output.splitlines()
    assert "    python -m dev.demo --keep" in lines
    assert not [line for line in lines if "\b" in line]
