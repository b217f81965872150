import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from urllib3 import ProxyManager

from edl.errors import Forbidden, Unreachable
from edl.kube.api.client import ApiClient
from edl.kube.auth.credentials import TokenFile, log_in
from edl.kube.auth.exec_plugin import ExecPlugin
from edl.kube.auth.kubeconfig import ConfigOverrides, choose
from edl.model import ObjectRef
from edl.writes import Json
from tests.edl.kube.servers import TRUST, Answer, Script, serving, status


def write(path: Path, name: str, user: Json | None = None, **cluster: Any) -> Path:  # noqa: ANN401 - JSON
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
    assert log_in(None, ConfigOverrides("b"), environ).server == "https://b"


def test_an_unknown_context_names_the_known_ones(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a")
    with pytest.raises(Unreachable, match=r'no context "x" \(known: a\); .*--context'):
        log_in(str(path), ConfigOverrides("x"), {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "there is no file"),
        ("{}", "has no current-context"),
        ("[]", "is not a kubeconfig"),
        ("{", "line 2: is not YAML"),
        (
            "a: b: c",
            "config: line 1: is not YAML: mapping values are not allowed in this context; c",
        ),
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
    assert choose([str(path)], None).user == {"tokenFile": str(tmp_path / "token")}
    assert log_in(str(path), None, {}).authorization() == "Bearer secret"


def test_a_certificate_that_is_none_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a", None, **{"certificate-authority-data": "bm9uZQ=="})
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
    with pytest.raises(Unreachable, match=r"is not a kubeconfig: .*--context"):
        log_in(str(path), None, {})


def impersonated(folder: Path, user: Json) -> list[tuple[str, str]]:
    """The headers of a request that say as which user it is made."""
    with serving(Answer(200, {"gitVersion": "v1"}), secure=True) as (script, address):
        path = write(folder / "a", "a", {"token": "admin", **user}, **TRUST)
        path.write_text(path.read_text().replace("https://a", address))
        ApiClient(log_in(str(path), None, {})).version()
    (asked,) = script.asked
    assert ("Authorization", "Bearer admin") in asked.headers
    return [header for header in asked.headers if header[0].startswith("Impersonate")]


def test_a_request_is_made_as_the_user_that_the_kubeconfig_impersonates(tmp_path: Path) -> None:
    user = {
        "as": "jané",
        "as-uid": "42",
        "as-groups": ["viewers", "interns"],
        "as-user-extra": {"example.org/scopes": ["read", "list"]},
    }
    assert impersonated(tmp_path, user) == [
        ("Impersonate-User", "jané".encode().decode("latin-1")),
        ("Impersonate-Uid", "42"),
        ("Impersonate-Group", "viewers"),
        ("Impersonate-Group", "interns"),
        ("Impersonate-Extra-example.org%2Fscopes", "read"),
        ("Impersonate-Extra-example.org%2Fscopes", "list"),
    ]


def test_without_such_fields_no_user_is_impersonated(tmp_path: Path) -> None:
    assert impersonated(tmp_path, {"as": None, "as-groups": []}) == []


def test_an_exec_plugin_logs_in_for_the_impersonated_user(tmp_path: Path) -> None:
    user = {**plugin(tmp_path, "$CREDENTIAL"), "as": "jane"}
    login = log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)
    assert login.impersonation == (("Impersonate-User", "jane"),)


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        ({"as": 3}, r"Expected `str`, got `int` - at `\$.as`"),
        ({"as": "a", "as-groups": "viewers"}, r"Expected `array`, got `str`"),
        ({"as-groups": ["viewers"]}, "as-uid, as-groups and as-user-extra need as"),
        ({"as": "a\nAuthorization: b"}, "as: a control character"),
        ({"as": "a", "as-user-extra": {"": ["x"]}}, "as-user-extra: a key is empty"),
    ],
)
def test_an_impersonation_that_cannot_be_sent_is_refused(
    tmp_path: Path, user: Json, problem: str
) -> None:
    with pytest.raises(Unreachable, match=problem):
        log_in(str(write(tmp_path / "a", "a", user)), None, {})


def test_a_command_line_chooses_cluster_and_user_apart_from_the_context(tmp_path: Path) -> None:
    paths = [str(write(tmp_path / name, name)) for name in ("a", "b", "c")]
    environ = {"KUBECONFIG": os.pathsep.join(paths)}
    login = log_in(None, ConfigOverrides(context="a", cluster="b", user="c"), environ)
    assert (login.server, login.namespace) == ("https://b", "ns-a")
    assert login.authorization() == "Bearer token-c"


@pytest.mark.parametrize(
    ("said", "problem"),
    [(ConfigOverrides(cluster="x"), 'no cluster "x"'), (ConfigOverrides(user="x"), 'no user "x"')],
)
def test_what_a_command_line_names_must_be_there(
    tmp_path: Path, said: ConfigOverrides, problem: str
) -> None:
    path = write(tmp_path / "a", "a")
    with pytest.raises(Unreachable, match=rf"{problem} \(known: a\)"):
        log_in(str(path), said, {})


def test_a_cluster_and_a_user_need_no_context(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a")
    document = yaml.safe_load(path.read_text())
    del document["current-context"], document["contexts"]
    path.write_text(yaml.safe_dump(document))
    login = log_in(str(path), ConfigOverrides(cluster="a", user="a"), {})
    assert (login.server, login.namespace) == ("https://a", "default")
    assert login.authorization() == "Bearer token-a"


def test_a_command_line_impersonates_instead_of_the_kubeconfig(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a", {"token": "t", "as": "bob", "as-groups": ["old"]})
    said = ConfigOverrides(impersonation={"as": "ann", "as-groups": ["dev", "ops"]})
    assert log_in(str(path), said, {}).impersonation == (
        ("Impersonate-User", "ann"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
    )
    with pytest.raises(Unreachable, match="need as: the user's name"):
        log_in(
            str(write(tmp_path / "b", "b")), ConfigOverrides(impersonation={"as-groups": ["x"]}), {}
        )


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "ftp://user:secret@proxy"])
def test_a_proxy_that_cannot_be_used_is_refused(tmp_path: Path, proxy: str) -> None:
    path = write(tmp_path / "a", "a", None, **{"proxy-url": proxy})
    with pytest.raises(Unreachable, match=r"context a .*only http and https proxies") as refused:
        log_in(str(path), None, {})
    assert "secret" not in str(refused.value)
    path = write(tmp_path / "b", "b")
    with pytest.raises(Unreachable, match=r"context b .*only http and https proxies"):
        log_in(str(path), None, {"HTTPS_PROXY": proxy})


def proxied(path: Path, **environ: str) -> str | None:
    pool = log_in(str(path), None, environ).pool
    return pool.proxy.url if isinstance(pool, ProxyManager) and pool.proxy else None


def test_a_proxy_is_used_as_kubectl_would(tmp_path: Path) -> None:
    plain = write(tmp_path / "a", "a")
    assert proxied(plain, HTTP_PROXY="http://proxy:1") is None
    assert proxied(plain, https_proxy="proxy:1") == "http://proxy:1"
    assert proxied(plain, HTTPS_PROXY="https://proxy:1", NO_PROXY="b,a") is None
    said = write(tmp_path / "b", "b", None, **{"proxy-url": "http://user:p%40ss@proxy:2"})
    assert proxied(said, NO_PROXY="b") == "http://user:p%40ss@proxy:2"
    pool = log_in(str(said), None, {}).pool
    assert isinstance(pool, ProxyManager)
    assert pool.proxy_headers == {"proxy-authorization": "Basic dXNlcjpwQHNz"}


def test_a_password_logs_in(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a", {"username": "ann", "password": "secret"})
    assert log_in(str(path), None, {}).authorization() == "Basic YW5uOnNlY3JldA=="


def test_an_auth_provider_that_is_not_known_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a", {"auth-provider": {"name": "azure"}})
    with pytest.raises(Unreachable, match="auth provider: only oidc and gcp are known"):
        log_in(str(path), None, {})


@pytest.mark.parametrize("user", [{"token": 3}, {"client-certificate-data": ["x"]}])
def test_a_credential_that_is_not_a_string_is_refused_and_not_shown(
    tmp_path: Path, user: Json
) -> None:
    with pytest.raises(Unreachable, match=r"is not a kubeconfig: .* is not a string"):
        log_in(str(write(tmp_path / "a", "a", user)), None, {})


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
    with pytest.raises(Unreachable) as told:
        log_in(str(path), None, os.environ)
    assert str(told.value) == (
        "context a: its credential plugin /nowhere/cloud-auth gave no credentials: [Errno 2] No "
        "such file or directory: '/nowhere/cloud-auth'; log in with it, or install it, until "
        "kubectl works"
    )
    assert capfd.readouterr() == ("", "")


def test_an_exec_plugin_may_say_itself_how_it_is_installed(tmp_path: Path) -> None:
    user = of_plugin("/nowhere/cloud-auth")
    user["exec"]["installHint"] = "see https://cloud.example/auth\n"
    with pytest.raises(Unreachable, match=r"cloud-auth'; see https://cloud.example/auth$"):
        log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)


def test_an_exec_plugin_that_fails_is_quoted(tmp_path: Path) -> None:
    user = plugin(tmp_path, "echo session expired >&2\nexit 1")
    with pytest.raises(Unreachable, match=r"it returned 1\. session expired; log in"):
        log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)


def test_an_exec_plugin_that_fails_later_is_told_then(tmp_path: Path) -> None:
    """Its first credentials are over at once, so that the next request asks for new ones."""
    once = 'if [ -e "$0.done" ]; then echo locked out >&2; exit 1; fi\ntouch "$0.done"\n$CREDENTIAL'
    user = plugin(tmp_path, once, expirationTimestamp="2020-01-01T00:00:00Z")
    login = log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)
    with pytest.raises(Unreachable, match=r"gave no credentials: it returned 1\. locked out"):
        login.authorization()


def test_credentials_that_end_at_no_moment_are_refused(tmp_path: Path) -> None:
    user = plugin(tmp_path, "$CREDENTIAL", expirationTimestamp="2020-01-01T00:00:00")
    with pytest.raises(Unreachable, match=r"gave no credentials: .*timezone"):
        log_in(str(write(tmp_path / "a", "a", user)), None, os.environ).authorization()


def test_a_client_certificate_of_an_exec_plugin_is_renewed_when_it_is_over(tmp_path: Path) -> None:
    count = 'echo x >>"$0.runs"; runs=$(wc -l <"$0.runs" | tr -d " ")\n'
    certificate = {
        "token": "",
        "clientCertificateData": "certificate $runs",
        "clientKeyData": "key $runs",
        "expirationTimestamp": "2026-01-01T00:00:0${runs}Z",
    }
    user = plugin(tmp_path, f"{count}$CREDENTIAL", **certificate)
    chosen = choose([str(write(tmp_path / "a", "a", user))], None)
    now, identities = datetime(2026, 1, 1, tzinfo=UTC), []
    found = ExecPlugin(chosen, os.environ, lambda *pem: identities.append(pem), lambda: now)
    for _ in range(2):
        assert found.authorization() is None
    assert identities == [(b"certificate 1", b"key 1")]
    now += timedelta(seconds=1)
    for _ in range(2):
        assert found.authorization() is None
    assert identities[1:] == [(b"certificate 2", b"key 2")]


def counting(folder: Path, name: str, server: str) -> tuple[ApiClient, Path]:
    """A client whose plugin counts its runs in its token, and in a file."""
    count = 'echo x >>"$0.runs"; runs=$(wc -l <"$0.runs" | tr -d " ")\n'
    user = plugin(folder, f"{count}$CREDENTIAL", token="token-$runs")
    path = write(folder / name, name, user, server=server, **TRUST)
    return ApiClient(log_in(str(path), None, os.environ)), folder / "plugin.runs"


def bearers(script: Script) -> list[str]:
    return [dict(asked.headers)["Authorization"] for asked in script.asked]


@pytest.mark.parametrize("method", ["version", "patch"])
def test_credentials_that_are_refused_before_they_are_over_are_asked_for_anew(
    tmp_path: Path, method: str
) -> None:
    accepted = Answer(200, {"gitVersion": "v1.36.3"})
    with serving(status(401, "Unauthorized"), accepted, secure=True) as (script, address):
        api, _ = counting(tmp_path, "a", address)
        pod = ObjectRef("Pod", "ns", "p")
        assert api.version() if method == "version" else api.patch(pod, {"metadata": {}})
        assert bearers(script) == ["Bearer token-1", "Bearer token-2"]
        api.version()
        assert bearers(script)[2:] == ["Bearer token-2"]
    assert [asked.body for asked in script.asked][:2] in (["", ""], ['{"metadata":{}}'] * 2)


def test_a_plugin_is_not_run_again_and_again_for_credentials_that_are_refused(
    tmp_path: Path,
) -> None:
    with serving(status(401, "Unauthorized"), secure=True) as (script, address):
        api, runs = counting(tmp_path, "a", address)
        for _ in range(3):
            with pytest.raises(Forbidden, match="does not accept these credentials"):
                api.version()
    assert bearers(script) == ["Bearer token-1", *["Bearer token-2"] * 3]
    assert runs.read_text().count("x") == 2


def test_after_a_minute_a_plugin_is_run_for_refused_credentials_once_more(tmp_path: Path) -> None:
    chosen = choose([str(write(tmp_path / "a", "a", plugin(tmp_path, "$CREDENTIAL")))], None)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    found = ExecPlugin(chosen, os.environ, lambda *_: None, lambda: now)
    told = []
    for seconds in (0, 59, 1):
        now += timedelta(seconds=seconds)
        told.append(found.refused(found.authorization()))
    assert told == [True, False, True]


def test_a_token_that_is_written_down_is_refused_at_once(tmp_path: Path) -> None:
    with serving(status(401, "Unauthorized"), secure=True) as (script, address):
        api = ApiClient(log_in(str(write(tmp_path / "a", "a", server=address, **TRUST)), None, {}))
        with pytest.raises(Forbidden, match="does not accept these credentials"):
            api.version()
    assert bearers(script) == ["Bearer token-a"]


@pytest.mark.parametrize("token", ["s3cret\n", "s3\ncret", "s3cr\u20act"])
def test_a_token_that_a_header_cannot_have_is_not_shown(token: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a", {"token": token}, server="https://127.0.0.1:1")
    with pytest.raises(Unreachable, match="the token of the kubeconfig contains") as refused:
        ApiClient(log_in(str(path), None, {})).version()
    assert "s3cr" not in str(refused.value)


def test_an_exec_plugin_is_told_what_it_asked_for(tmp_path: Path) -> None:
    """Its command is relative to the kubeconfig's folder, its cluster's authority is in a file."""
    user = plugin(tmp_path, 'echo "$KUBERNETES_EXEC_INFO $1 $HOME" >"$0.told"\n$CREDENTIAL')
    user["exec"] |= {
        "command": "./plugin",
        "args": ["login"],
        "env": [{"name": "HOME", "value": "/home/ann"}],
        "provideClusterInfo": True,
    }
    (tmp_path / "ca").write_text("CA")
    path = write(tmp_path / "a", "a", user, **{"certificate-authority": "ca"})
    chosen = choose([str(path)], None)
    assert ExecPlugin(chosen, os.environ, lambda *_: None).authorization() == "Bearer fresh"
    told, argument, home = (tmp_path / "plugin.told").read_text().split()
    assert (argument, home) == ("login", "/home/ann")
    assert json.loads(told)["spec"] == {
        "interactive": False,
        "cluster": {"server": "https://a", "certificate-authority-data": "Q0E="},
    }


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("nonsense", "malformed"),
        ('{"apiVersion": "v1", "kind": "Secret", "status": {}}', "it printed Secret of v1"),
        (json.dumps({**_CREDENTIAL, "status": {}}), "it printed neither a token nor a certificate"),
    ],
)
def test_an_exec_plugin_that_prints_no_credentials_is_told(
    tmp_path: Path, printed: str, why: str
) -> None:
    user = plugin(tmp_path, f"cat <<END\n{printed}\nEND")
    with pytest.raises(Unreachable, match=why):
        log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_no_credentials_are_sent_in_clear_text(tmp_path: Path, scheme: str) -> None:
    with serving(Answer(200, {"gitVersion": "v1"})) as (script, address):
        server = address.replace("http://", scheme)
        user = {"token": "secret", "as": "ann"}
        path = write(tmp_path / "a", "a", user, server=server, **TRUST)
        assert ApiClient(log_in(str(path), None, {})).version() == "v1"
    (asked,) = script.asked
    sent = dict(asked.headers)
    assert ("Authorization" in sent, sent["Impersonate-User"]) == (False, "ann")


def test_a_server_in_clear_text_that_wants_credentials_is_told_from_one_that_refuses_them(
    tmp_path: Path,
) -> None:
    with serving(status(401, "Unauthorized")) as (_, address):
        client = ApiClient(log_in(str(write(tmp_path / "a", "a", server=address)), None, {}))
        with pytest.raises(Forbidden, match="credentials, which are sent to https:// only: Unauth"):
            client.version()


def test_no_exec_plugin_runs_for_a_server_in_clear_text(tmp_path: Path) -> None:
    user = plugin(tmp_path, 'touch "$0.ran"\n$CREDENTIAL')
    path = write(tmp_path / "a", "a", user, server="HTTP://a")
    assert log_in(str(path), None, os.environ).authorization() is None
    assert not (tmp_path / "plugin.ran").exists()


def test_paths_of_a_kubeconfig_with_a_relative_name_are_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a separator, a command would be looked up on PATH."""
    monkeypatch.chdir(tmp_path)
    user = of_plugin("./plugin") | {"tokenFile": "token"}
    write(tmp_path / "a", "a", user)
    chosen = choose(["a"]).user
    assert (chosen["exec"]["command"], chosen["tokenFile"]) == (
        str(tmp_path / "plugin"),
        str(tmp_path / "token"),
    )


def test_only_the_variable_lists_several_files(tmp_path: Path) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    path = str(write(folder / "config", "a"))
    assert log_in(path, None, {}).server == "https://a"
    with pytest.raises(Unreachable, match="there is no file"):
        log_in(None, None, {"KUBECONFIG": path})


def test_a_kubeconfig_is_read_in_its_own_encoding(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "a", {"token": "\u00fc"})
    document = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-16")
    assert log_in(str(path), None, {}).authorization() == "Bearer \u00fc"


def test_a_deep_kubeconfig_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("[" * 100_000)
    with pytest.raises(Unreachable, match="it is nested deeper than 100 levels"):
        log_in(str(path), None, {})


def test_the_words_of_a_failed_exec_plugin_may_be_of_any_encoding(tmp_path: Path) -> None:
    user = plugin(tmp_path, "printf 'expired \\377\\n' >&2\nexit 3")
    with pytest.raises(Unreachable, match=r"it returned 3\. expired \ufffd; log in"):
        log_in(str(write(tmp_path / "a", "a", user)), None, os.environ)


def test_a_variable_of_an_exec_plugin_without_a_value_is_empty(tmp_path: Path) -> None:
    user = plugin(tmp_path, 'echo "<$EMPTY>" >"$0.told"\n$CREDENTIAL')
    user["exec"]["env"] = [{"name": "EMPTY"}]
    login = log_in(str(write(tmp_path / "a", "a", user)), None, {**os.environ, "EMPTY": "full"})
    assert login.authorization() == "Bearer fresh"
    assert (tmp_path / "plugin.told").read_text() == "<>\n"


@pytest.mark.parametrize(
    "proxy",
    [
        "http://",
        ":::",
        "bob:secret://@proxy:1",
        "http://bob:secret://@proxy:1",
        "http://bob:12/secret@proxy:1",
        "http://bob:secret[@proxy:1",
        "http://bob:[secret]@proxy:1",
    ],
)
def test_a_proxy_without_a_host_is_refused_without_its_password(tmp_path: Path, proxy: str) -> None:
    path = write(tmp_path / "a", "a")
    with pytest.raises(Unreachable, match=r"its proxy has no host: .* %2F for / in") as refused:
        log_in(str(path), None, {"HTTPS_PROXY": proxy})
    assert "secret" not in str(refused.value)
