import inspect
import os
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dev.demo.__main__ import demo
from dev.demo.story import MANIFESTS, Story, plugin_path
from sandbox.layout import Facts, Layout, write_facts

PAGE = Path("docs/tutorials/demo.md")


def test_kubectl_finds_the_plugin_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert plugin_path().split(os.pathsep) == [str(Path(sys.executable).parent), "/usr/bin"]


def test_the_page_of_the_demo_has_each_command_in_order() -> None:
    written = re.findall(r'self\._(edl|apply)\("([a-z.]+)"\)', inspect.getsource(Story))
    commands = {"edl": "kubectl edl {}", "apply": f"kubectl apply -f {MANIFESTS}/{{}}"}
    shown, _, _ = PAGE.read_text().partition("## Training on a real node")
    lines = re.findall(r"^  \$ (kubectl .*)$", shown, re.MULTILINE)
    assert lines == [commands[kind].format(name) for kind, name in written]


def test_each_example_of_the_help_has_a_line_of_its_own() -> None:
    lines = CliRunner().invoke(demo, ["--help"]).output.splitlines()
    assert "    python -m dev.demo --keep" in lines
    assert not [line for line in lines if "\b" in line]


def test_a_demo_does_not_remove_the_sandbox_of_another_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDL_STATE", str(tmp_path))
    monkeypatch.setenv("EDL_BINARIES", str(tmp_path / "none"))
    kept = Layout(tmp_path / "sandboxes" / "demo")
    kept.folder.mkdir(parents=True)
    write_facts(kept.facts, Facts(api_port=1, etcd_port=2, checkout="/home/ann/edl"))
    found = CliRunner().invoke(demo, [])
    assert (found.exit_code, kept.facts.exists()) == (1, True)
    assert "Error: sandbox demo was started from /home/ann/edl, and a demo would" in found.output
    assert "-m sandbox down --name demo ends it, and" in found.output
    assert "-m dev.demo --name demo-2 leaves it up" in found.output
