import errno
import io
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from edl.errors import Forbidden, Unreachable, WebhookAway
from edl.kube.cluster import ListOptions, RawList
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl import crash_file
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.lazy_group import command_first
from kubectl_edl.cli.root import CLI, COMMANDS
from kubectl_edl.main import run
from kubectl_edl.output.yaml_writer import dump
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced
from tests.kubectl_edl.stage import Stage, job, mnist


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    stage.create(job("plain"))
    return stage


@pytest.mark.parametrize("command", ["status", "scale", "pause", "resume"])
def test_a_name_that_is_nearly_right_is_suggested(stage: Stage, command: str) -> None:
    size = ["3"] if command == "scale" else []
    found = stage.run(command, "minst", *size)
    assert found.code == 3
    assert found.out == ""
    assert found.err == (
        'error: no training job "minst" in namespace default; did you mean mnist? '
        "all of them: kubectl edl status -A\n"
    )


@pytest.mark.parametrize("kind", ["job", "jobs", "job.batch", "jobs.batch", "Job"])
def test_names_are_taken_as_we_and_kubectl_print_them(stage: Stage, kind: str) -> None:
    found = stage.run("status", f"{kind}/mnist-ps", "-o", "jsonpath={.metadata.name}")
    assert (found.code, found.out) == (0, "mnist")
    labelling = stage.run("adopt", f"{kind}/plain", "--framework", "none")
    assert labelling.err.startswith('error: Job "plain" exists: its spec.template is immutable')


def test_the_name_of_another_kind_finds_no_training_job(stage: Stage) -> None:
    found = stage.run("status", "pod/mnist")
    assert found.code == 3
    assert found.err.startswith('error: no training job "pod/mnist" in namespace default')


def test_a_name_like_no_other_gets_no_suggestion(stage: Stage) -> None:
    assert stage.run("status", "zzz").err == (
        'error: no training job "zzz" in namespace default; all of them: kubectl edl status -A\n'
    )


def test_a_job_of_another_namespace_is_named(stage: Stage) -> None:
    found = (stage.run(command, "mnist", "-n", "team").err for command in ("status", "delete"))
    assert [*found] == [
        'error: no training job "mnist" in namespace team; it is in: -n default\n'
    ] * 2


def test_a_user_of_one_namespace_is_shown_the_flag_that_works_there(stage: Stage) -> None:
    stage.wrapped = fenced("Job")
    found = stage.run("status", "-A", "--as", "viewer")
    assert (found.code, found.out) == (1, "")
    refused, hint = found.err.splitlines()
    assert refused.startswith('error: "ann" may not list Job')
    assert hint == (
        "hint: -A needs this right in the whole cluster; -n NAMESPACE shows one namespace"
    )
    assert "hint" not in stage.run("status").err


def test_credentials_that_are_not_accepted_get_no_hint_about_namespaces(stage: Stage) -> None:
    class Expired(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            raise Forbidden(f"{selection.kind}: log in again", 401)

    stage.wrapped = Expired
    assert "hint" not in stage.run("status", "-A").err


@pytest.mark.parametrize(("command", "hinted"), [("pause", True), ("status", False)])
def test_a_command_that_changes_jobs_names_the_role_that_suffices(
    stage: Stage, command: str, *, hinted: bool
) -> None:
    """Else the role that grants the refused read would be asked for, and then the next one."""
    stage.wrapped = fenced("Job")
    found = stage.run(command, "mnist", "-n", "default").err
    assert found.startswith("error: ")
    assert (
        "\nhint: if you lack a right: the ClusterRole edl-editor has all that pause needs\n"
        in found
    ) is hinted


def test_all_namespaces_are_only_suggested_to_users_who_may_list_their_jobs(stage: Stage) -> None:
    class OneNamespace(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if not selection.namespace:
                raise Forbidden("jobs.batch", 403)
            return super().list(selection)

    stage.wrapped = OneNamespace
    assert stage.run("status", "zzz", "--as", "viewer").err == (
        'error: no training job "zzz" in namespace default; '
        "all of them: kubectl edl status --as viewer\n"
    )


@pytest.mark.parametrize("command", [("explain",), ("scale", "2"), ("status",)])
def test_a_labelled_pod_is_named_with_what_to_use(stage: Stage, command: tuple[str, ...]) -> None:
    verb, *size = command
    bare = {"labels": {"edl.dev/framework": "none", "edl.dev/job": "bare"}}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "mnist", "uid": "uid-mnist"}
    owned = {"labels": {"edl.dev/framework": "none", "edl.dev/job": "mnist"}}
    for name, meta in (("bare", bare), ("mnist-x", owned | {"ownerReferences": [owner]})):
        stage.cluster.create(
            ObjectRef("Pod", "default", name), {"metadata": meta, "spec": {"containers": []}}
        )
    found = stage.run(verb, "bare", *size)
    assert found.code == 3
    assert found.err == (
        'error: "bare" is a bare pod, which is neither queued nor resized: '
        "kubectl describe pod bare; only Jobs are training jobs\n"
    )
    assert stage.run(verb, "mnist-x", *size).err == (
        'error: "mnist-x" is a pod of training job mnist: kubectl edl explain mnist\n'
    )


class Away(ClusterWrapper):
    """An API server that cannot reach the webhook."""

    def create(self, *_: object, **__: object) -> Json:
        raise WebhookAway('failed calling webhook "jobs.edl.dev": connection refused', 500)

    patch = create


@pytest.mark.parametrize(
    "line",
    [
        ("scale", "mnist", "3"),
        ("pause", "mnist"),
        ("create", "none", "new", "--image", "i", "--workers", "1", "--cpu", "1"),
        ("adopt", "plain", "--framework", "none", "--recreate", "--yes"),
    ],
    ids=lambda line: line[0],
)
def test_an_unreachable_webhook_hints_at_doctor(stage: Stage, line: tuple[str, ...]) -> None:
    stage.wrapped = Away
    found = stage.run(*line, "--context", "prod")
    assert found.code == 1
    hint = "hint: the webhook of kubectl-edl did not answer: kubectl edl doctor --context prod\n"
    assert found.err.endswith(f"connection refused\n{hint}")


def test_a_misspelt_label_suggests_the_correct_one(stage: Stage) -> None:
    manifest = job("typo", framwork="none")
    stage.create(manifest)
    assert stage.run("status", "typo").err == (
        'error: Job "typo" is not elastic: it has no label edl.dev/framework; '
        "edl.dev/framwork is unknown, and does nothing: did you mean edl.dev/framework?; "
        "kubectl edl adopt typo --framework … --min 1 --max … --recreate\n"
    )


def test_the_error_for_an_ordinary_job_names_adopt(stage: Stage) -> None:
    found = stage.run("scale", "plain", "3", "-n", "default")
    assert found.code == 1
    assert found.err == (
        'error: Job "plain" is not elastic: it has no label edl.dev/framework; '
        "kubectl edl adopt plain -n default --framework … --min 1 --max … --recreate\n"
    )


def test_a_name_in_several_namespaces_needs_one(stage: Stage) -> None:
    other = job("mnist", framework="none")
    other["metadata"]["namespace"] = "team"
    stage.put(other)
    found = stage.run("status", "mnist", "-A")
    assert found.code == 1
    assert found.err == (
        'error: "mnist" is in several namespaces (default, team): choose one with -n\n'
    )


def test_no_cluster_is_one_line() -> None:
    def unreachable(_: Scope) -> ClusterConnection:
        raise Unreachable("no answer from the API server https://x; choose another: --kubeconfig")

    cli = replace(Stage().cli(), connect=unreachable)
    assert run(["status"], cli, {}) == 1
    assert isinstance(cli.err, io.StringIO)
    assert cli.err.getvalue() == (
        "error: no answer from the API server https://x; choose another: --kubeconfig\n"
    )


def broken(message: str = "division by zero") -> CliContext:
    """Its connection raises an error that nothing expects."""

    def connect(_: Scope) -> ClusterConnection:
        raise ZeroDivisionError(message)

    return replace(Stage().cli(), connect=connect)


def printed_error(cli: CliContext) -> str:
    assert isinstance(cli.err, io.StringIO)
    return cli.err.getvalue()


@pytest.mark.parametrize("place", ["HOME", "XDG_CACHE_HOME"])
def test_the_traceback_of_an_internal_error_is_in_a_file_for_its_user(
    place: str, tmp_path: Path
) -> None:
    cli = broken()
    assert run(["status", "-n", "secret"], cli, {place: str(tmp_path)}) == 1
    folder = tmp_path / (".cache" if place == "HOME" else "") / "kubectl-edl" / "crashes"
    (path,) = folder.iterdir()
    assert printed_error(cli) == (
        f"error: unexpected ZeroDivisionError: division by zero; its traceback: {path}\n"
    )
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    text = path.read_text()
    assert text.startswith("kubectl edl status, version 0.1.0, Python 3")
    assert "Traceback (most recent call last)" in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "Invalid header value b'Bearer abc.DEF-1\\n'",
            "Invalid header value b'Bearer [redacted]'",
        ),
        ("cannot send Basic dTpw", "cannot send Basic [redacted]"),
        ("Failed to parse: http://u:p%40w@[bad", "Failed to parse: http://u:[redacted]@[bad"),
        ("https://10.0.0.1:6443/api", "https://10.0.0.1:6443/api"),
        ("not an object: {'token': 'abc'}", "not an object: {'token': '[redacted]'}"),
        ("  token: abc", "  token: [redacted]"),
        (f"{' ' * 50}token: abc", f"{' ' * 50}token: [redacted]"),
        ("password 'open sesame'", "password '[redacted]'"),
        ("token: |\n  abc", "token: |\n  [redacted]"),
        ('{"clientKeyData":"-----BEGIN\\nMI","a":1}', '{"clientKeyData":"[redacted]","a":1}'),
        ("{'id_token': \"it's\"}", "{'id_token': \"[redacted]\"}"),
        ("User(access_token='a b')", "User(access_token='[redacted]')"),
        ("http://h/?token=abc", "http://h/?token=[redacted]"),
        ("http://abc@h/", "http://[redacted]@h/"),
        ("authorization: bearer abc", "authorization: bearer [redacted]"),
        ("invalid token: expected ,", "invalid token: expected ,"),
        ("it returned 1. token: abc", "it returned 1. token: [redacted]"),
        ("helper --token=abc", "helper --token=[redacted]"),
        ("helper --id-token abc", "helper --id-token [redacted]"),
        ("helper --password 'a b' now", "helper --password [redacted] now"),
        (r"it printed {\"token\":\"abc\"}", r"it printed {\"token\":\"[redacted]\"}"),
        ("with AWS_SECRET_ACCESS_KEY=abc", "with AWS_SECRET_ACCESS_KEY=[redacted]"),
        ("Authorization: basic abc", "Authorization: basic [redacted]"),
        ("expired: eyJhbG.eyJzdWI.c2ln", "expired: [redacted]"),
        ("api_key: abc", "api_key: [redacted]"),
        ("passwd=abc", "passwd=[redacted]"),
        ("pwd: abc", "pwd: [redacted]"),
        ("X-Auth: 1, Cookie: session=abc; a=b", "X-Auth: 1, Cookie: [redacted]"),
        ("the token 'abc1' has expired", "the token '[redacted]' has expired"),
        ("password 'correcthorsebatterystaple'", "password '[redacted]'"),
        ("unexpected token 'end of file'", "unexpected token 'end of file'"),
        ("invalid token 'mnist' at 12", "invalid token 'mnist' at 12"),
        ("the cookie: it is eaten by pod-1", "the cookie: it is eaten by pod-1"),
        ("users:\n    ? token\n    : abc", "users:\n    ? token\n    : [redacted]"),
        ('{\n  "token"\n  : "abc"}', '{\n  "token"\n  : "[redacted]"}'),
        ("invalid name: sa-token-eyJhbG.eyJzdWI.c2ln", "invalid name: sa-token-[redacted]"),
        ("its token is abcdefg1", "its token is [redacted]"),
        ("its token is unacceptable", "its token is unacceptable"),
        ('secret "registry" not found', 'secret "registry" not found'),
        ("Token: Token abc", "Token: Token [redacted]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_neither_the_line_nor_the_file_has_credentials(
    message: str, shown: str, tmp_path: Path
) -> None:
    cli = broken(message)
    run(["status"], cli, {"XDG_CACHE_HOME": str(tmp_path)})
    (path,) = (tmp_path / "kubectl-edl" / "crashes").iterdir()
    line = " ".join(shown.split())
    assert line in " ".join(printed_error(cli).split())
    assert path.read_text().endswith(f"ZeroDivisionError: {shown}\n")


@pytest.mark.parametrize("text", ["\n", "token\n", "cookie: ", "://a:", "eyJ-", "a-eyJ"])
def test_what_a_message_repeats_is_searched_once(text: str) -> None:
    """Each of them would take minutes if it were searched again from each of its places."""
    assert crash_file.redacted(text * 60_000) == text * 60_000


def test_an_object_of_another_form_is_an_error_of_the_server(tmp_path: Path) -> None:
    class Odd(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            name = f"{selection.kind.lower()}-1".encode()
            return RawList((b'{"metadata": {"name": "%s", "uid": null}}' % name,), "1")

    stage = Stage(wrapped=Odd)
    found = stage.run("status", environ={"XDG_CACHE_HOME": str(tmp_path)})
    assert found.code == 1
    assert found.err.startswith("error: an object of the API server is not as Kubernetes defines")
    (path,) = (tmp_path / "kubectl-edl" / "crashes").iterdir()
    assert found.err.endswith(f"; check the server's address; its traceback: {path}\n")


def test_a_full_disk_is_reported_without_a_traceback(tmp_path: Path) -> None:
    def full(_: Scope) -> ClusterConnection:
        raise OSError(errno.ENOSPC, "No space left on device")

    cli = replace(Stage().cli(), connect=full)
    assert run(["status"], cli, {"XDG_CACHE_HOME": str(tmp_path)}) == 1
    said = "error: the output cannot be written: No space left on device\n"
    assert printed_error(cli) == said
    assert list(tmp_path.iterdir()) == []


def test_the_password_in_a_servers_address_is_not_shown() -> None:
    def unreachable(_: Scope) -> ClusterConnection:
        raise Unreachable("no answer from the API server http://user:s3cret@10.0.0.1:6443: refused")

    cli = replace(Stage().cli(), connect=unreachable)
    assert run(["status"], cli, {}) == 1
    assert printed_error(cli) == (
        "error: no answer from the API server http://user:[redacted]@10.0.0.1:6443: refused\n"
    )


def test_a_wrong_argument_is_shown_without_its_password() -> None:
    cli = Stage().cli()
    assert run(["status", "--for", "http://user:s3cret@host"], cli, {}) == 2
    assert "s3cret" not in printed_error(cli)


def test_a_copied_tree_writes_its_traceback_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(crash_file, "version", absent)
    run(["status"], broken(), {"XDG_CACHE_HOME": str(tmp_path)})
    (path,) = (tmp_path / "kubectl-edl" / "crashes").iterdir()
    assert path.read_text().startswith("kubectl edl status, version unknown, Python 3")


def test_only_the_newest_tracebacks_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "kubectl-edl" / "crashes"
    folder.mkdir(parents=True)
    old = [folder / f"20260101T0000{second:02}.000000Z-1.txt" for second in range(12)]
    for path in old:
        path.touch()
    run(["status"], broken(), {"XDG_CACHE_HOME": str(tmp_path)})
    left = sorted(folder.iterdir())
    assert left[:-1] == old[-9:]
    assert left[-1] not in old


@pytest.mark.parametrize("cache", ["", "relative", "/dev/null"])
def test_an_internal_error_is_one_line_without_a_place_for_its_traceback(cache: str) -> None:
    cli = broken()
    assert run(["status"], cli, {"XDG_CACHE_HOME": cache}) == 1
    assert printed_error(cli) == (
        "error: unexpected ZeroDivisionError: division by zero; "
        "EDL_DEBUG=1 shows where it comes from\n"
    )


def test_debugging_raises_an_internal_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run(["status"], broken(), {"EDL_DEBUG": "1", "HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_is_130() -> None:
    def interrupted(_: Scope) -> ClusterConnection:
        raise KeyboardInterrupt

    assert run(["status"], replace(Stage().cli(), connect=interrupted), {}) == 130


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["STATUS"], 'unknown command "STATUS" for "kubectl edl"; did you mean status?'),
        (["statu"], 'unknown command "statu" for "kubectl edl"; did you mean status?'),
        (["stop"], 'unknown command "stop" for "kubectl edl"; did you mean pause or delete?'),
        (["get", "x"], 'unknown command "get" for "kubectl edl"; did you mean status?'),
        (["apply"], 'unknown command "apply" for "kubectl edl"; did you mean kubectl apply -f?'),
        (["fly"], 'unknown command "fly" for "kubectl edl"'),
        (["help", "fly"], 'unknown command "fly" for "kubectl edl"'),
    ],
)
def test_an_unknown_command_is_wrong_usage(arguments: list[str], words: str) -> None:
    found = Stage().run(*arguments)
    assert found.code == 2
    assert found.err == f"error: {words}\nSee 'kubectl edl --help' for usage.\n"


def test_an_unknown_flag_names_the_command_that_knows_better() -> None:
    found = Stage().run("status", "--colour")
    assert found.code == 2
    assert found.err.endswith("See 'kubectl edl status --help' for usage.\n")


@pytest.mark.parametrize(
    ("line", "command"),
    [("pause mnist --dry-run", "pause"), ("teams set a --dry-run", "teams set")],
)
def test_an_option_without_its_value_points_to_the_help_of_its_command(
    line: str, command: str
) -> None:
    found = Stage().run(*line.split())
    assert (found.code, found.err.splitlines()) == (
        2,
        [
            "error: Option '--dry-run' requires an argument.",
            f"See 'kubectl edl {command} --help' for usage.",
        ],
    )


@pytest.mark.parametrize("line", ["--context", "-n", "-A --as-group a --user"])
def test_a_flag_without_its_value_and_a_command_is_known(line: str) -> None:
    flag = line.rsplit(maxsplit=1)[-1]
    found = Stage().run(*line.split())
    assert (found.code, found.err.splitlines()) == (
        2,
        [
            f"error: Option '{flag}' requires an argument.",
            "See 'kubectl edl --help' for usage.",
        ],
    )


def test_without_a_command_the_overview_is_printed() -> None:
    found = Stage().run()
    assert found.code == 0
    assert all(f"  {name} " in found.out for name in COMMANDS)


@pytest.mark.parametrize("line", ["", "status", "teams", "teams set"])
def test_help_is_a_command_too_as_in_kubectl(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = line.split()
    flag = Stage().run(*words, "--help").code, capsys.readouterr().out
    assert (Stage().run("help", *words).code, capsys.readouterr().out) == flag
    assert flag[0] == 0
    assert flag[1].startswith(f"Usage: {' '.join(['kubectl edl', *words])} ")


def test_flags_may_precede_the_command(stage: Stage) -> None:
    assert stage.run("-n", "empty", "status").err == stage.run("status", "-n", "empty").err
    assert command_first(["-n", "a", "--output=json", "-A", "status", "x"]) == [
        "status",
        "-n",
        "a",
        "--output=json",
        "-A",
        "x",
    ]


def test_the_overview_lists_each_command_as_the_command_describes_itself() -> None:
    context = CLI.make_context("kubectl edl", ["version"])
    assert all(CLI.get_command(context, name) for name in CLI.list_commands(context))


def test_version_is_the_packages() -> None:
    assert Stage().run("version").out.startswith("kubectl-edl 0.")
    assert '"clientVersion": "0.' in Stage().run("version", "-o", "json").out
    assert Stage().run("--version") == Stage().run("version")


def test_help_loads_neither_the_cluster_nor_the_planner() -> None:
    code = (
        "import atexit, sys; from kubectl_edl.main import main\n"
        "heavy = {'kubernetes', 'numpy', 'msgspec', 'yaml', 'urllib3', 'edl.model'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules))))\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe_gives_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "kubectl_edl", "version"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def by_a_shell(line: str, **environ: str) -> tuple[int, str, str]:
    """The plugin, called by this line of sh as `edl`."""
    script = f'edl() {{ "{sys.executable}" -m kubectl_edl "$@"; }}; {line}'
    done = subprocess.run(
        ["sh", "-c", script],
        capture_output=True,
        env=os.environ | environ,
        text=True,
        check=False,
        errors="replace",
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_streams_that_the_shell_has_closed_break_nothing() -> None:
    assert by_a_shell("edl version >&-") == (0, "", "")
    assert by_a_shell("edl version <&-")[0] == 0
    assert by_a_shell("edl nonsense 2>&-") == (2, "", "")
    closed = by_a_shell("edl inject -f - <&-")
    assert closed == (1, "", "error: stdin cannot be read: it is closed\n")


@pytest.mark.slow
def test_manifests_are_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    """What is applied must be what was read."""
    manifest = job("mnist", framework="none", max="2")
    manifest["metadata"]["annotations"] = {"team": "żółw"}
    (tmp_path / "job.yaml").write_text(dump(manifest))
    latin = {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "latin-1"}
    code, out, err = by_a_shell(f"edl inject -f {tmp_path}/job.yaml", **latin)
    assert (code, err) == (0, "")
    assert "team: żółw" in out
    code, out, err = by_a_shell(f"edl inject -f {tmp_path}/job.yaml --explain", **latin)
    assert (code, err) == (0, "")


@pytest.mark.parametrize(("old", "new"), [("label", "adopt"), ("unlabel", "release")])
def test_an_old_command_name_works_with_a_warning(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed, current = (Stage().run(name, "minst") for name in (old, new))
    assert renamed == current
    assert capsys.readouterr().err == f'warning: "{old}" is now "{new}"; 0.2 drops the old name\n'
    assert old not in COMMANDS


def test_ctrl_c_waits_for_no_answer_of_the_api_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        cluster = {"server": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        file = tmp_path / "config.yaml"
        file.write_text(
            json.dumps(
                {
                    "current-context": "a",
                    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                    "clusters": [{"name": "a", "cluster": cluster}],
                    "users": [{"name": "a", "user": {"token": "x"}}],
                }
            )
        )
        command = [sys.executable, "-m", "kubectl_edl", "status", "--kubeconfig", str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            asked, _ = silent.accept()
            with asked:
                asked.recv(1)
                process.send_signal(signal.SIGINT)
                try:
                    assert process.wait(20) == 130
                finally:
                    process.kill()


def test_ctrl_c_during_an_import_is_not_dropped() -> None:
    """importlib's own lock of a module ends with such a callback; Python ignores what it raises."""
    script = """if True:
        import signal, sys, time, weakref
        from kubectl_edl import main

        class Lock: ...

        def status(*_):
            lock = Lock()
            callback = weakref.ref(lock, lambda _: signal.raise_signal(signal.SIGINT))
            del lock
            try:
                time.sleep(20)
            except KeyboardInterrupt:
                return 130
            return 0

        main.run = status
        main.main()
    """
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 130
