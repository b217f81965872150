from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dev.browser import PROGRAM, browser
from sandbox.builds import debian
from sandbox.builds.debian import PACKAGES
from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from pathlib import Path


def ignore(_line: str) -> None: ...


def test_without_packages_it_says_where_the_browser_comes_from(tmp_path: Path) -> None:
    environ = {"PATH": "", "EDL_CACHE": str(tmp_path)}
    with (
        pytest.raises(SandboxError, match=r"chromium-headless-shell.* come from the packages of"),
        browser(environ, ignore),
    ):
        pytest.fail("there is no browser")


@pytest.mark.slow
def test_a_browser_that_does_not_start_is_an_error_with_its_path(tmp_path: Path) -> None:
    kept = tmp_path / "debian" / f"chromium-{debian._key(PACKAGES['chromium'])}"  # noqa: SLF001 - the cache's name
    program = kept / PROGRAM
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    environ = {"PATH": "/usr/bin:/bin", "EDL_CACHE": str(tmp_path)}
    with (
        pytest.raises(SandboxError, match=f"{PROGRAM} does not start: "),
        browser(environ, ignore),
    ):
        pytest.fail("there is no browser")
