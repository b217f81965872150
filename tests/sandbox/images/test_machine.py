"""What builds take over from this machine: its mirrors, its proxies, its certificates."""

from __future__ import annotations

import shutil
import subprocess
from configparser import RawConfigParser
from typing import TYPE_CHECKING

import pytest

from sandbox.images import machine

if TYPE_CHECKING:
    from pathlib import Path

LISTED = """\
:env:.default-timeout='180'
:env:.find-links='/opt/wheels'
global.cert='/etc/ssl/certs/ca-certificates.crt'
global.default-timeout='15'
global.index-url='https://pypi.example.org/simple'
global.trusted-host='one.example.org\\ntwo.example.org'
install.no-binary='horovod'
"""
DUMPED = """\
APT "";
APT::Architecture "amd64";
Acquire "";
Acquire::AllowInsecureRepositories "0";
Acquire::Check-Valid-Until "false";
Acquire::http "";
Acquire::http::Proxy "http://proxy.example.org:3128";
Acquire::http::Proxy-Auto-Detect "/usr/bin/auto-apt-proxy";
Acquire::https::CAInfo "/etc/ssl/mine.pem";
Acquire::Languages "";
Acquire::Retries "3";
Dir::Cache "var/cache/apt";
"""
SOURCES = """\
# deb http://commented.example.org/debian bookworm main
deb [arch=amd64] https://tools.example.org bookworm stable
deb http://user:key@lines.example.org/debian bookworm main contrib # trailing
deb-src http://lines.example.org/debian bookworm main
deb http://mirror.example.org/debian/ bookworm-updates main
deb http://mirror.example.org/debian/ bookworm-backports main
deb http://mirror.example.org/debian-security bookworm-security main
deb http://flat.example.org ./
deb file:/srv/debian bookworm main
"""


def parsed(text: str) -> dict[str, dict[str, str]]:
    parser = RawConfigParser()
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_pip_is_told_what_it_is_told_here_but_for_files_of_this_machine() -> None:
    assert parsed(machine.pip_conf(LISTED, secured=True)) == {
        "global": {
            "cert": machine.BUNDLE,
            "default-timeout": "180",
            "index-url": "https://pypi.example.org/simple",
            "trusted-host": "one.example.org\ntwo.example.org",
        },
        "install": {"no-binary": "horovod"},
    }


def test_a_machine_without_certificates_names_none() -> None:
    assert parsed(machine.pip_conf("", secured=False)) == {"global": {}}
    assert machine.apt_conf("", secured=False) == ""


def test_apt_is_told_how_to_fetch_and_nothing_else() -> None:
    assert machine.apt_conf(DUMPED, secured=True).splitlines() == [
        'Acquire::Check-Valid-Until "false";',
        'Acquire::http::Proxy "http://proxy.example.org:3128";',
        'Acquire::Retries "3";',
        f'Acquire::https::CAInfo "{machine.BUNDLE}";',
    ]


def test_certificates_come_from_where_the_environment_names_them(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text("certificates")
    found = machine.mounts(tmp_path, {"SSL_CERT_FILE": str(bundle), "PATH": ""})
    assert found[machine.BUNDLE] == bundle
    assert machine.BUNDLE in found[machine.PIP].read_text()
    assert machine.BUNDLE in found[machine.APT].read_text()


def test_a_machine_without_apt_and_certificates_has_nothing_to_say(tmp_path: Path) -> None:
    nowhere = {"SSL_CERT_FILE": str(tmp_path / "none.pem"), "PATH": ""}
    found = machine.mounts(tmp_path, nowhere)
    assert machine.BUNDLE not in found
    assert found[machine.APT].read_text() == ""


@pytest.mark.skipif(not shutil.which("apt-get"), reason="asks apt itself")
def test_sources_are_debians_own_of_the_release(tmp_path: Path) -> None:
    listed = tmp_path / "sources.list"
    listed.write_text(SOURCES)
    apt, *words = machine.INDEXES
    options = (f"-oDir::Etc::sourcelist={listed}", "-oDir::Etc::sourceparts=/dev/null")
    said = subprocess.run((apt, *options, *words), capture_output=True, text=True, check=True)
    assert machine.sources_of("bookworm", said.stdout) == (
        "deb http://user:key@lines.example.org/debian bookworm main",
        "deb http://mirror.example.org/debian bookworm-updates main",
        "deb http://mirror.example.org/debian-security bookworm-security main",
    )
    assert machine.sources_of("noble", said.stdout) == ()


def test_a_machine_without_apt_has_no_sources() -> None:
    assert machine.sources_of("bookworm", "") == ()
