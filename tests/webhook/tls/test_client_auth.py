import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.issue import issue_authority
from certs.subject_names import SubjectNames
from webhook.tls.client_auth import ClientAuthority, ClientAuthorityError, names_of

CERTIFICATE = {
    "subject": ((("organizationName", "system:masters"),), (("commonName", "kube-apiserver"),)),
    "subjectAltName": (("DNS", "api.example.com"), ("IP Address", "10.0.0.1")),
}

NAMES = SubjectNames(("kube-apiserver",))


def context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def test_names_are_the_common_one_and_the_alternative_ones() -> None:
    assert names_of(CERTIFICATE) == ("kube-apiserver", "api.example.com")
    assert names_of({}) == ()


def test_without_names_the_authority_alone_decides(tmp_path: Path) -> None:
    assert ClientAuthority(tmp_path / "ca.crt", frozenset()).problem(CERTIFICATE) == ""


@pytest.mark.parametrize("name", ["kube-apiserver", "api.example.com"])
def test_one_of_the_names_suffices(tmp_path: Path, name: str) -> None:
    assert (
        ClientAuthority(tmp_path / "ca.crt", frozenset({name, "other"})).problem(CERTIFICATE) == ""
    )


def test_another_name_is_told_which_are_welcome(tmp_path: Path) -> None:
    clients = ClientAuthority(tmp_path / "ca.crt", frozenset({"b", "a"}))
    assert clients.problem(CERTIFICATE) == (
        "the client certificate of kube-apiserver, api.example.com is not one of a, b "
        "(--client-name)"
    )
    assert "of (no name) is not one of" in clients.problem({})


def test_a_certificate_is_demanded_as_soon_as_the_authority_is_read(tmp_path: Path) -> None:
    file, served = tmp_path / "ca.crt", context()
    file.write_bytes(issue_authority(NAMES, datetime.now(UTC)).certificate)
    clients = ClientAuthority(file, frozenset())
    assert clients.demand(served) is True
    assert served.verify_mode is ssl.CERT_REQUIRED
    assert clients.demand(served) is False


def test_a_new_authority_is_trusted_besides_the_old_one(tmp_path: Path) -> None:
    file, served = tmp_path / "ca.crt", context()
    clients = ClientAuthority(file, frozenset())
    for _ in range(2):
        file.write_bytes(issue_authority(NAMES, datetime.now(UTC)).certificate)
        assert clients.demand(served) is True
    assert len(served.get_ca_certs()) == 2


@pytest.mark.parametrize("content", [b"", b"no certificate", b"\xff\xfe"])
def test_a_malformed_ca_file_is_an_error_that_names_the_file(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(content)
    with pytest.raises(ClientAuthorityError, match=r"--client-ca .*ca\.crt: "):
        ClientAuthority(file, frozenset()).demand(context())


def test_a_file_that_is_not_there_is_the_same_error(tmp_path: Path) -> None:
    with pytest.raises(ClientAuthorityError, match="No such file"):
        ClientAuthority(tmp_path / "ca.crt", frozenset()).demand(context())
