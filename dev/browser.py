"""A real browser for tests and pictures: the distribution's Chromium, driven by Playwright.

Playwright's own browsers are not downloaded: the package that Debian keeps up to date will do.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playwright.sync_api import Error, sync_playwright

from sandbox.builds import debian, debian_packages
from sandbox.builds.build import Bench
from sandbox.errors import SandboxError
from sandbox.paths import places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from playwright.sync_api import Browser

PROGRAM: Final = "usr/lib/chromium/chromium-headless-shell"
_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


@contextlib.contextmanager
def browser(
    environ: Mapping[str, str] = os.environ, say: Callable[[str], None] = _say
) -> Iterator[Browser]:
    """Fetched into the cache first, if need be. Raises SandboxError where it cannot run."""
    bench = Bench(places(environ).cache, environ)
    prefix = debian_packages.unpacked("chromium", bench, say)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(
                executable_path=prefix / PROGRAM,
                env={**environ, **debian.environment(prefix), **_fonts(prefix, Path(folder))},
                chromium_sandbox=False,  # root may not have one; it sees our own pages only
            )
        except Error as error:
            raise SandboxError(f"{prefix / PROGRAM} does not start: {error}") from error
        try:
            yield started
        finally:
            started.close()


def _fonts(prefix: Path, folder: Path) -> dict[str, str]:
    """The package's fonts and no others: every machine draws the same."""
    path = folder / "fonts.conf"
    path.write_text(_FONTS.format(fonts=prefix / "usr/share/fonts", cache=folder / "fonts"))
    return {"FONTCONFIG_FILE": str(path)}
