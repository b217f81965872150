"""A real browser for tests and pictures: Debian's Chromium, controlled with Playwright.

Playwright's own browsers are not downloaded, because Debian keeps its package up to date.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Error, sync_playwright

from sandbox.builds import debian
from sandbox.builds.build import BuildEnvironment
from sandbox.errors import SandboxError
from sandbox.paths import places

PROGRAM: Final = "usr/lib/chromium/chromium-headless-shell"
_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


@contextlib.contextmanager
def browser(
    environ: Mapping[str, str] = os.environ, say: Callable[[str], object] = _say
) -> Iterator[Browser]:
    """A started browser; the package is first downloaded into the cache if it is not there.

    Raises SandboxError if the package cannot be fetched or the browser does not start.
    """
    build_env = BuildEnvironment(places(environ).cache, environ)
    prefix = debian.unpacked("chromium", build_env, say)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(
                executable_path=prefix / PROGRAM,
                env={**environ, **debian.environment(prefix), **_fonts(prefix, Path(folder))},
                chromium_sandbox=False,  # impossible for root; only our own pages are opened
            )
        except Error as error:
            raise SandboxError(f"{prefix / PROGRAM} does not start: {error}") from error
        try:
            yield started
        finally:
            started.close()


def _fonts(prefix: Path, folder: Path) -> dict[str, str]:
    """Makes fontconfig use the package's fonts only: text looks alike on every machine."""
    path = folder / "fonts.conf"
    path.write_text(_FONTS.format(fonts=prefix / "usr/share/fonts", cache=folder / "fonts"))
    return {"FONTCONFIG_FILE": str(path)}
