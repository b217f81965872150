import json
import logging
import os
from pathlib import Path
from typing import Final

import pytest
import yaml

from edl.errors import Unreachable
from edl.kube.kubeconfig import choose
from edl.kube.login import TokenFile, log_in
from edl.writes import Json


def write(path: Path, name: str, user: Json | None = None, **cluster: str | bool) -> Path:
    document = {
        "current-context": name,
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name, "namespace": f"ns-{name}"}}
        ],
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}", **cluster}}],
        "users": [{"name": name, "user": user or {"token": f"token-{name}"}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def test_the_current_context_is_chosen(tmp_path: Path) -> None:
    login = log_in(str(write(tmp_path / "a", "a")), None, {})
    assert (login.server, login.namespace) == ("https://a", "ns-a")
    assert login.authorization() == "Bearer token-a"


def test_several_files_are_one_and_the_first_wins(tmp_path: Path) -> None:
    paths = [str(write(tmp_path / name, name)) for name in ("a", "b")]
    environ = {"KUBECONFIG": os.pathsep.join([*paths, str(tmp_path / "missing")])}
    assert log_in(None, None, environ).server == "https://a"
    assert log_in(None, "b", environ).server == "https://b"


def test_an_unknown_context_names_the_known_ones(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a")
    with pytest.raises(Unreachable, match=r'no context "x" \(known: a\); .*--context'):
        log_in(str(path), "x", {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "there is no file"),
        ("{}", "has no current-context"),
        ("[]", "is no kubeconfig"),
        ("{", "cannot be read"),
        ("current-context: a", 'no context "a"'),
    ],
)
def test_a_file_that_chooses_no_cluster_says_why(
    tmp_path: Path, text: str | None, problem: str
) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(Unreachable, match=problem):
        log_in(str(path), None, {})


def test_files_are_found_beside_the_kubeconfig(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a", {"tokenFile": "token"})
    (tmp_path / "token").write_text("secret\n")
    assert choose(str(path), None).user == {"tokenFile": str(tmp_path / "token")}
    assert log_in(str(path), None, {}).authorization() == "Bearer secret"


def test_a_certificate_that_is_none_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a", **{"certificate-authority-data": "bm9uZQ=="})
    with pytest.raises(Unreachable, match="credentials of context a"):
        log_in(str(path), None, {})


def test_a_token_is_read_again_after_a_minute_and_kept_when_its_file_is_away(
    tmp_path: Path,
) -> None:
    file, now = tmp_path / "token", [0.0]
    file.write_text("one")
    token = TokenFile(file, lambda: now[0])
    assert token.authorization() == "Bearer one"
    file.write_text("two")
    assert token.authorization() == "Bearer one"
    now[0] = 61.0
    assert token.authorization() == "Bearer two"
    file.unlink()
    now[0] = 122.0
    assert token.authorization() == "Bearer two"


@pytest.mark.parametrize("part", ["clusters", "contexts", "users"])
@pytest.mark.parametrize("entries", ["3", "[3]", "[{name: a, PART: 3}]"])
def test_a_kubeconfig_of_another_shape_says_so(tmp_path: Path, part: str, entries: str) -> None:
    path = write(tmp_path / "a", "a")
    wrong = f"{part}: {entries.replace('PART', part.removesuffix('s'))}\n"
    path.write_text(f"current-context: a\n{wrong}")
    with pytest.raises(Unreachable, match=r"is no kubeconfig: .*--context"):
        log_in(str(path), None, {})


_CREDENTIAL: Final = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "kind": "ExecCredential",
    "status": {"token": "fresh"},
}


def plugin(folder: Path, script: str, **status: str) -> Json:
    """A user whose credentials this script prints, for `$CREDENTIAL`, or does not."""
    credential = {**_CREDENTIAL, "status": {"token": "fresh", **status}}
    file = folder / "plugin"
    said = script.replace("$CREDENTIAL", f"cat <<END\n{json.dumps(credential)}\nEND")
    file.write_text(f"#!/bin/sh\n{said}\n")
    file.chmod(0o700)
    return of_plugin(str(file))


def of_plugin(command: str) -> Json:
    version = _CREDENTIAL["apiVersion"]
    return {"exec": {"apiVersion": version, "command": command, "interactiveMode": "Never"}}


def test_an_exec_plugin_logs_in(tmp_path: Path) -> None:
    user = plugin(tmp_path, "$CREDENTIAL")
    login = log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)
    assert login.authorization() == "Bearer fresh"
    assert login.namespace == "ns-a"


def test_an_exec_plugin_that_is_missing_is_told_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a", "a", of_plugin("/nowhere/cloud-auth"))
    handlers = list(logging.getLogger().handlers)
    with pytest.raises(Unreachable) as told:
        log_in(str(path), None, os.environ)
    assert str(told.value) == (
        "context a: its credential plugin /nowhere/cloud-auth gave no credentials: [Errno 2] No "
        "such file or directory: '/nowhere/cloud-auth'; log in with it, or install it, until "
        "kubectl works"
    )
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().handlers == handlers
    assert logging.getLogger().filters == []


def test_an_exec_plugin_may_say_itself_how_it_is_installed(tmp_path: Path) -> None:
    user = of_plugin("/nowhere/cloud-auth")
    user["exec"]["installHint"] = "see https://cloud.example/auth\n"
    with pytest.raises(Unreachable, match=r"cloud-auth'; see https://cloud.example/auth$"):
        log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)


def test_an_exec_plugin_that_fails_is_quoted(tmp_path: Path) -> None:
    user = plugin(tmp_path, "echo session expired >&2\nexit 1")
    with pytest.raises(Unreachable, match=r"exec: process returned 1. session expired; log in"):
        log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)


def test_an_exec_plugin_that_fails_later_is_told_then(tmp_path: Path) -> None:
    """Its first credentials are over at once, so that the next request asks for new ones."""
    once = 'if [ -e "$0.done" ]; then echo locked out >&2; exit 1; fi\ntouch "$0.done"\n$CREDENTIAL'
    user = plugin(tmp_path, once, expirationTimestamp="2020-01-01T00:00:00Z")
    login = log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)
    with pytest.raises(Unreachable, match=r"gave no credentials: exec: .*locked out"):
        login.authorization()
