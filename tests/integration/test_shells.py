"""Completion in the shells themselves, through the real kubectl: what Tab puts on the line."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox.builds.build import BuildEnvironment
from sandbox.builds.debian import environment, unpacked
from sandbox.errors import BuildError
from sandbox.paths import places
from tests.integration.support.stage import elastic
from tests.integration.support.terminal import KILL_LINE, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Shells:
    """Debian's shells, where they were unpacked, and a user's environment for them."""

    prefix: Path
    environ: Mapping[str, str]

    def fish(self, *lines: str) -> str:
        """What fish prints for these lines."""
        data = self.prefix / "usr/share/fish"
        setting = (
            "set -e LD_LIBRARY_PATH",  # ours alone: children run with their own libraries
            f"set -g fish_function_path {data}/functions",
            f"set -g fish_complete_path {data}/completions",
        )
        command = [str(self.prefix / "usr/bin/fish"), "--no-config", "-c"]
        libraries = {"LD_LIBRARY_PATH": environment(self.prefix)["LD_LIBRARY_PATH"]}
        return subprocess.run(
            [*command, "; ".join((*setting, *lines))],
            env={**self.environ, **libraries},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    def bash(self) -> Terminal:
        terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], self.environ)
        scripts = self.prefix / "usr/share/bash-completion/bash_completion"
        return _ready(terminal, f"source {scripts}; source <(kubectl edl completion bash)")

    def zsh(self) -> Terminal:
        functions = self.prefix / "usr/share/zsh/functions"
        folders = [functions, *(path for path in functions.rglob("*") if path.is_dir())]
        environ = {**self.environ, "FPATH": os.pathsep.join(map(str, folders))}
        (modules,) = self.prefix.glob("usr/lib/*/zsh/*")
        terminal = Terminal([str(self.prefix / "bin/zsh"), "-f", "-i"], environ)
        return _ready(
            terminal,
            f"module_path=({modules}); autoload -Uz compinit; compinit -u -D; "
            "source <(kubectl edl completion zsh)",
        )


def _ready(terminal: Terminal, script: str) -> Terminal:
    # The word is put together by the shell: what is typed is on the screen, too.
    terminal.type(f"{script}; echo rea''dy\n")
    terminal.until("ready\n")
    return terminal


@pytest.fixture(scope="module")
def prefix() -> Path:
    build_env = BuildEnvironment(places(os.environ).cache, os.environ)
    try:
        return unpacked("shells", build_env, lambda _: None)
    except BuildError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture
def shells(prefix: Path, installed: Stage, tmp_path: Path) -> Shells:
    """A user with one training job, in a namespace of its own."""
    installed.apply(elastic("sweep", labels={"min": "1", "max": "2"}, parallelism=1))
    programs = (Path(sys.executable).parent, installed.cluster.kubectl_path.parent)
    environ = {
        **os.environ,
        **installed.cluster.kubectl_environment(),
        "PATH": os.pathsep.join((*map(str, programs), os.environ["PATH"])),
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "TERM": "vt100",
        "PS1": "$ ",
        "COLUMNS": "200",
    }
    return Shells(prefix, environ)


@pytest.fixture
def lines(installed: Stage) -> dict[str, str]:
    """What is typed before Tab, and what stands on the line after it."""
    namespace = installed.namespace
    return {
        "kubectl edl rel": "kubectl edl release",
        "kubectl edl scale --dry": "kubectl edl scale --dry-run",
        "kubectl edl status -n edl-sy": "kubectl edl status -n edl-system",
        f"kubectl edl status -n {namespace} swe": f"kubectl edl status -n {namespace} sweep",
        f"kubectl-edl pause -n {namespace} sw": f"kubectl-edl pause -n {namespace} sweep",
    }


def tabbed(terminal: Terminal, lines: Mapping[str, str]) -> Iterator[bool]:
    for typed, wanted in lines.items():
        terminal.type(f"{typed}\t")
        yield wanted in terminal.until(wanted)
        terminal.type(KILL_LINE)


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_tab_completes_commands_flags_namespaces_and_jobs(
    shells: Shells, lines: Mapping[str, str], name: str
) -> None:
    terminal = {"bash": shells.bash, "zsh": shells.zsh}[name]()
    try:
        assert all(tabbed(terminal, lines))
    finally:
        terminal.close()


def test_fish_completes_commands_flags_namespaces_and_jobs(
    shells: Shells, lines: Mapping[str, str]
) -> None:
    asked = [f"complete -C '{typed}'" for typed in lines]
    found = shells.fish("kubectl edl completion fish | source", *asked).splitlines()
    offered = [line.partition("\t")[0] for line in found]
    assert offered == [wanted.rpartition(" ")[2] for wanted in lines.values()]


def test_fish_offers_descriptions(shells: Shells) -> None:
    found = shells.fish("kubectl edl completion fish | source", "complete -C 'kubectl edl docto'")
    assert found == "doctor\tCheck the installation and suggest fixes.\n"
