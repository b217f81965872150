import json
import os
from pathlib import Path

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


def test_an_exec_plugin_logs_in(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "fresh"},
    }
    plugin.write_text(f"#!/bin/sh\ncat <<END\n{json.dumps(credential)}\nEND\n")
    plugin.chmod(0o700)
    user = {
        "exec": {
            "apiVersion": credential["apiVersion"],
            "command": str(plugin),
            "interactiveMode": "Never",
        }
    }
    login = log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)
    assert login.authorization() == "Bearer fresh"
    assert login.namespace == "ns-a"
