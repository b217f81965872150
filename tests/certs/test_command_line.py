import subprocess
import sys
from pathlib import Path


def certs(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: PLW1510 - exit codes are what is tested
        [sys.executable, "-m", "certs", *words], capture_output=True, text=True, timeout=60
    )


def test_issue_then_show_is_good(tmp_path: Path) -> None:
    issued = certs("issue", "--dir", str(tmp_path), "--dns", "edl.example.test", "--ip", "10.0.0.1")
    assert (issued.returncode, issued.stderr) == (0, "")
    shown = certs("show", "--dir", str(tmp_path))
    assert shown.returncode == 0
    assert "edl.example.test" in shown.stdout
    assert "10.0.0.1" in shown.stdout
    assert shown.stdout.splitlines()[-1].split() == ["state", "good"]


def test_show_says_what_is_wrong_and_fails(tmp_path: Path) -> None:
    certs("issue", "--dir", str(tmp_path))
    other = tmp_path / "other"
    certs("issue", "--dir", str(other))
    (other / "tls.key").rename(tmp_path / "tls.key")
    shown = certs("show", "--dir", str(tmp_path))
    assert shown.returncode == 1
    assert "the key does not belong to the certificate" in shown.stdout


def test_show_of_damaged_files_is_no_traceback(tmp_path: Path) -> None:
    certs("issue", "--dir", str(tmp_path))
    (tmp_path / "tls.crt").write_text("x")
    shown = certs("show", "--dir", str(tmp_path))
    assert shown.returncode == 1
    assert "not readable PEM" in shown.stdout
    assert shown.stderr == ""


def test_an_empty_directory_is_one_line_on_stderr(tmp_path: Path) -> None:
    shown = certs("show", "--dir", str(tmp_path))
    assert shown.returncode == 1
    assert shown.stderr == "error: ca.crt and ca.key and tls.crt and tls.key missing\n"


def test_install_without_a_cluster_is_one_line_on_stderr(tmp_path: Path) -> None:
    absent = str(tmp_path / "kubeconfig")
    installed = certs("install", "--configuration", "edl", "--kubeconfig", absent)
    assert installed.returncode == 1
    assert installed.stderr.startswith("error: no cluster")
    assert len(installed.stderr.splitlines()) == 1
