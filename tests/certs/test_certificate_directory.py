import stat
from pathlib import Path

import pytest

from certs import certificate_directory
from certs.bundle import CertificateError


def test_what_is_written_is_read(tmp_path: Path) -> None:
    files = {"ca.crt": b"one", "tls.key": b"two"}
    certificate_directory.write(tmp_path / "deep" / "er", files)
    assert (
        certificate_directory.read(tmp_path / "deep" / "er", ["ca.crt", "tls.key", "tls.crt"])
        == files
    )


def test_only_the_owner_may_read_even_when_the_file_was_open_to_all(tmp_path: Path) -> None:
    key = tmp_path / "tls.key"
    key.write_text("old")
    key.chmod(0o644)
    certificate_directory.write(tmp_path, {"tls.key": b"new"})
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_reader_of_the_old_file_keeps_the_whole_old_file(tmp_path: Path) -> None:
    certificate_directory.write(tmp_path, {"tls.crt": b"old"})
    with (tmp_path / "tls.crt").open("rb") as reader:
        certificate_directory.write(tmp_path, {"tls.crt": b"new"})
        assert reader.read() == b"old"
    assert (tmp_path / "tls.crt").read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_files_and_nothing_else(tmp_path: Path) -> None:
    certificate_directory.write(tmp_path, {"tls.crt": b"old"})
    (tmp_path / "tls.key").mkdir()
    with pytest.raises(CertificateError, match="cannot write"):
        certificate_directory.write(tmp_path, {"tls.key": b"new"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tls.crt", "tls.key"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").mkdir()
    with pytest.raises(CertificateError, match=r"cannot read .*tls\.crt: Is a directory"):
        certificate_directory.read(tmp_path, ["tls.crt"])


def test_a_missing_directory_holds_nothing(tmp_path: Path) -> None:
    assert certificate_directory.read(tmp_path / "absent", ["tls.crt"]) == {}
