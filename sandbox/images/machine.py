"""This machine's configuration of apt and pip, for the RUN steps of a build.

It is mounted during a step, so that proxies, mirrors and certificates of this machine do not
become part of the image. Only the mount points remain, as empty files. The base image is made from
this machine's package sources.
"""

import ast
import functools
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from configparser import RawConfigParser
from io import StringIO
from pathlib import Path
from typing import Final

DEFAULT_BUNDLE: Final = Path("/etc/ssl/certs/ca-certificates.crt")
BUNDLE: Final = "/mnt/ca.pem"
"""The path in the build. At Debian's own path, ca-certificates could not write its file."""
INDEXES: Final = (
    *("apt-get", "indextargets", "--no-release-info", "Created-By: Packages"),
    *("--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"),
)
"""Prints a line for each package index, also of those that were never downloaded."""
PIP: Final = "/etc/pip.conf"
APT: Final = "/etc/apt/apt.conf.d/99machine"
_APT_SETTING: Final = re.compile(
    r"Acquire::(https?::(?!.*(auto-?detect|certificate|CAInfo|SSL))|Check-|Retries|Force).* \"",
    re.IGNORECASE,
)
_OF_THE_HOST: Final = (
    "find-links",
    "cert",
    "client-cert",
    "cache-dir",
    "log",
    "require-virtualenv",
)


def mounts(folder: Path, environ: Mapping[str, str]) -> dict[str, Path]:
    """This machine's files by their paths in the build; generated files are written to `folder`."""
    found: dict[str, Path] = {}
    bundle = Path(environ.get("SSL_CERT_FILE") or DEFAULT_BUNDLE)
    if bundle.is_file():
        found[BUNDLE] = bundle.resolve()
    said = _said((sys.executable, "-m", "pip", "config", "list"), environ)
    found[PIP] = _written(folder / "pip.conf", pip_conf(said, secured=bundle.is_file()))
    said = _said(("apt-config", "dump"), environ)
    found[APT] = _written(folder / "apt.conf", apt_conf(said, secured=bundle.is_file()))
    return found


def pip_conf(listed: str, *, secured: bool) -> str:
    """A pip.conf from `pip config list`, without options that name files of this machine.

    secured: there is a certificate bundle at BUNDLE.
    """
    made = RawConfigParser()
    made["global"] = {}
    # pip lists a variable PIP_X as `:env:.x`; variables have precedence, so they come last.
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        key, _, value = line.partition("=")
        section, _, option = key.rpartition(".")
        if option and option not in _OF_THE_HOST:
            name = "global" if section == ":env:" else section
            made.setdefault(name, {})
            made[name][option] = str(ast.literal_eval(value)).replace("\n", "\n  ")
    if secured:
        made["global"]["cert"] = BUNDLE
    text = StringIO()
    made.write(text)
    return text.getvalue()


def apt_conf(dumped: str, *, secured: bool) -> str:
    """An apt.conf with the download settings of `apt-config dump`."""
    kept = [line for line in dumped.splitlines() if _APT_SETTING.match(line)]
    bundle = [f'Acquire::https::CAInfo "{BUNDLE}";'] if secured else []
    return "\n".join([*kept, *bundle, ""])


@functools.cache
def sources(release: str) -> tuple[str, ...]:
    """This machine's sources of a Debian release, as lines of a sources.list."""
    return sources_of(release, _said(INDEXES, os.environ))


def sources_of(release: str, listed: str) -> tuple[str, ...]:
    """The sources of a release in what `INDEXES` prints; empty if there are none.

    Only Debian's component `main` of the release, its updates and its security fixes.
    """
    suites = {release, f"{release}-updates", f"{release}-security"}
    found = (line.split(" ") for line in listed.splitlines() if line.startswith("http"))
    return tuple(
        dict.fromkeys(
            f"deb {address.rstrip('/')} {suite} main"
            for address, suite, component in found
            if suite in suites and component == "main"
        )
    )


def _said(argv: tuple[str, ...], environ: Mapping[str, str]) -> str:
    """A program's output; empty if the program is missing or fails."""
    try:
        asked = subprocess.run(
            argv, env=environ, cwd=os.sep, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return asked.stdout if asked.returncode == 0 else ""


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
