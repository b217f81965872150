import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from certs.__main__ import certs as command_line
from certs.issue import LIFETIMES


def certs(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: PLW1510 - exit codes are what is tested
        [sys.executable, "-m", "certs", *words], capture_output=True, text=True, timeout=60
    )


def test_what_was_issued_is_described(tmp_path: Path) -> None:
    issued = certs("issue", "--dir", str(tmp_path), "--dns", "edl.example.test", "--ip", "10.0.0.1")
    assert (issued.returncode, issued.stderr) == (0, "")
    authority, until, certificate, names, ends = issued.stdout.splitlines()
    assert authority.split()[0] == "authority"
    assert certificate.split()[0] == "certificate"
    assert {"edl.example.test", "10.0.0.1"} <= set(names.replace(",", "").split())
    assert [line.rpartition(", ")[2] for line in (until, ends)] == [
        f"{LIFETIMES.authority.days - 1} days left",
        f"{LIFETIMES.serving.days - 1} days left",
    ]


@pytest.mark.slow
def test_an_authority_that_cannot_sign_is_one_line_on_stderr(tmp_path: Path) -> None:
    certs("issue", "--dir", str(tmp_path))
    (tmp_path / "ca.key").write_text("x")
    issued = certs("issue", "--dir", str(tmp_path))
    assert issued.returncode == 1
    assert issued.stderr.startswith("error: the authority cannot sign: the key is not readable PEM")
    assert len(issued.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--days", "-5"), "-5 is not in the range 1<=x<=36500"),
        (("--ca-days", "99999999"), "99999999 is not in the range"),
        (("--ip", "foo"), '"foo" cannot be a name in a certificate'),
        (("--dns", "\u00fc.test"), "cannot be a name in a certificate"),
    ],
)
def test_what_no_certificate_can_have_is_refused(words: tuple[str, str], said: str) -> None:
    found = CliRunner().invoke(command_line, ["issue", "--dir", "unused", *words])
    assert (found.exit_code, said in found.output) == (2, True)
