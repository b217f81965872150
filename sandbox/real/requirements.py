"""Checks by trying whether a real node can run on this machine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from sandbox.real import cgroups

PROGRAMS: Final = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "mount": "mount",
    "ip": "iproute2",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
PROBE: Final = """set -e
ip link add edl-a type veth peer name edl-b
mount -t tmpfs none /tmp
mkdir /tmp/a /tmp/b /tmp/c /tmp/d
mount -t overlay none -o lowerdir=/tmp/a,upperdir=/tmp/b,workdir=/tmp/c /tmp/d
"""


def missing(environ: Mapping[str, str], user: int | None = None) -> str:
    """The first requirement that this machine does not meet, with a remedy; empty if it meets all.

    user: a user id, if not this process's own.
    """
    if not sys.platform.startswith("linux"):
        return f"a real node needs Linux; this is {sys.platform}"
    if (os.geteuid() if user is None else user) != 0:
        return "a real node needs root: namespaces, mounts and cgroups (run it with sudo -E)"
    for program, package in PROGRAMS.items():
        if not shutil.which(program, path=environ.get("PATH")):
            return f"a real node needs {program} (apt-get install {package})"
    if lacking := cgroups.lacking():
        return f"a real node needs cgroups: {lacking}"
    return _forbidden(environ)


def _forbidden(environ: Mapping[str, str]) -> str:
    probe = ("unshare", "--net", "--mount", "sh", "-c", PROBE)
    tried = subprocess.run(probe, env=environ, capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return ""
    said = " ".join(tried.stderr.split())
    return f"a real node needs network and mount namespaces, veth and overlay, but: {said}"
