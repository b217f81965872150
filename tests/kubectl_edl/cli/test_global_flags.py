"""kubectl's global flags, on all commands that read a cluster."""

import io
import json
from dataclasses import replace
from pathlib import Path

import click
import pytest

from edl.model import ObjectRef
from kubectl_edl.cli import options
from kubectl_edl.cli.context import Scope
from kubectl_edl.cli.lazy_group import command_first
from kubectl_edl.cli.root import CLI, COMMANDS
from kubectl_edl.main import run, this_process
from tests.edl.kube.servers import TRUST, Answer, Script, serving, status
from tests.kubectl_edl.stage import Stage, job

NOTHING = Answer(200, {"metadata": {"resourceVersion": "1"}, "items": []})
FLAGS = {"--as", "--as-group", "--as-uid", "--user", "--cluster", "--request-timeout"}
OFFLINE = {"completion", "convert", "inject", "version"}
"""Commands that ask no cluster."""


def kubeconfig(folder: Path, address: str) -> str:
    written = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "nowhere", "user": "nobody"}}],
        "clusters": [
            {"name": "nowhere", "cluster": {"server": "https://127.0.0.1:1"}},
            {"name": "there", "cluster": {"server": address, **TRUST}},
        ],
        "users": [
            {"name": "nobody", "user": {"token": "nobodys"}},
            {"name": "ann", "user": {"token": "anns"}},
        ],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(written))
    return str(path)


def asked(folder: Path, *arguments: str) -> tuple[int, Script]:
    with serving(NOTHING, secure=True) as (script, address):
        cli = replace(Stage().cli(), connect=this_process().connect)
        code = run([*arguments, "--kubeconfig", kubeconfig(folder, address)], cli, {})
    assert isinstance(cli.err, io.StringIO)
    return code, script


def test_cluster_and_user_are_chosen_apart_from_the_context(tmp_path: Path) -> None:
    code, script = asked(tmp_path, "status", "--cluster", "there", "--user", "ann")
    assert code == 0
    assert {dict(one.headers)["Authorization"] for one in script.asked} == {"Bearer anns"}


def test_the_installation_may_be_in_another_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = "/apis/coordination.k8s.io/v1/namespaces/team-x/leases/edl-reconciler"
    to_there = ("status", "--cluster", "there", "--user", "ann")
    _, script = asked(tmp_path, *to_there, "--system-namespace", "team-x")
    assert wanted in {one.path for one in script.asked}
    monkeypatch.setenv("EDL_SYSTEM_NAMESPACE", "team-x")
    _, script = asked(tmp_path, *to_there)
    assert wanted in {one.path for one in script.asked}


def test_every_request_is_made_as_the_user_that_is_named(tmp_path: Path) -> None:
    flags = ("--as", "bob", "--as-uid", "7", "--as-group", "dev", "--as-group", "ops")
    _, script = asked(tmp_path, *flags, "status", "--cluster", "there", "--user", "ann")
    assert script.asked
    for one in script.asked:
        said = [pair for pair in one.headers if pair[0].startswith("Impersonate")]
        assert said == [
            ("Impersonate-User", "bob"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "dev"),
            ("Impersonate-Group", "ops"),
        ]


def test_a_refusal_is_checked_as_the_user_that_is_named(tmp_path: Path) -> None:
    message = 'forbidden: User "bob" cannot list resource "jobs" in API group "batch"'
    with serving(status(403, message)) as (_, address):
        cli = replace(Stage().cli(), connect=this_process().connect)
        path = kubeconfig(tmp_path, address)
        flags = ["--cluster", "there", "--user", "ann", "--as", "bob", "--as-group", "dev"]
        assert run(["status", *flags, "--kubeconfig", path], cli, {}) == 1
    assert isinstance(cli.err, io.StringIO)
    assert (
        f"kubectl auth can-i list jobs.batch -n default --kubeconfig {path} "
        "--cluster there --user ann --as bob --as-group dev)" in cli.err.getvalue()
    )


@pytest.mark.parametrize("text", ["5", "5s", "1m"])
def test_request_timeout_limits_one_request(tmp_path: Path, text: str) -> None:
    code, _ = asked(tmp_path, "status", "--cluster", "there", "--request-timeout", text)
    assert code == 0
    assert asked(tmp_path, "status", "--request-timeout", "soon")[0] == 2


def test_a_slow_server_times_out_after_the_request_timeout(tmp_path: Path) -> None:
    """A throttling server: without the flag requests would be retried for longer than 1 s."""
    later = Answer(503, {"kind": "Status", "code": 503, "message": "later"}, {"Retry-After": "2"})
    with serving(later) as (script, address):
        cli = replace(Stage().cli(), connect=this_process().connect)
        path = kubeconfig(tmp_path, address)
        flags = ["--cluster", "there", "--request-timeout", "1s"]
        assert run(["history", "mnist", *flags, "--kubeconfig", path], cli, {}) == 1
    assert len({one.path for one in script.asked}) == len(script.asked), "none was asked twice"


def test_warnings_of_the_server_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warned = Answer(201, {"metadata": {}}, {"Warning": '299 - "deprecated"'})
    with serving(warned) as (_, address):
        scope = Scope(kubeconfig=kubeconfig(tmp_path, address), cluster="there")
        cluster = this_process().connect(scope).cluster
        cluster.without_warnings().create(ObjectRef("Job", "web", "train"), {})
        assert capsys.readouterr().err == ""
        cluster.create(ObjectRef("Job", "web", "train"), {})
    assert capsys.readouterr().err == "Warning: deprecated\n"


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - OFFLINE))
def test_every_command_that_reads_a_cluster_takes_global_flags(name: str) -> None:
    context = click.Context(CLI, info_name="kubectl edl")
    command = CLI.get_command(context, name)
    commands = [command]
    if isinstance(command, click.Group):
        commands = [command.get_command(context, one) for one in command.list_commands(context)]
    for one in commands:
        assert one is not None
        known = {option for param in one.params for option in param.opts}
        assert known >= FLAGS, one.name


@pytest.mark.parametrize("flag", sorted({*FLAGS, "-n", "--system-namespace", "-o", "--selector"}))
def test_global_flags_may_precede_the_command(flag: str) -> None:
    assert command_first([flag, "x", "-w", "status", "mnist"]) == [
        "status",
        flag,
        "x",
        "-w",
        "mnist",
    ]


def test_a_new_option_of_every_command_may_precede_it(monkeypatch: pytest.MonkeyPatch) -> None:
    more = click.option("--new")
    usual = options.all_namespaces_options
    monkeypatch.setattr(options, "all_namespaces_options", lambda command: usual(more(command)))
    assert command_first(["--new", "x", "status"]) == ["status", "--new", "x"]


def test_kubectl_itself_is_run_as_the_same_user() -> None:
    scope = Scope(cluster="there", user="ann", as_user="bob", as_groups=("dev",))
    expected = ["--cluster", "there", "--user", "ann", "--as", "bob", "--as-group", "dev"]
    assert scope.connection_flags == expected


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (("status", "resnet"), "fix: kubectl edl doctor"),
        (("status", "nobody"), "all of them: kubectl edl status -A"),
        (("pause", "resnet"), "kubectl edl resume resnet"),
        (("pause", "resnet", "-n", "default"), "kubectl edl resume resnet -n default"),
        (("pause", "-A", "--all", "--yes"), "kubectl edl resume resnet -n default"),
        (("scale", "resnet", "9"), "change the bound: kubectl edl scale resnet"),
        (("scale", "mnist", "9"), "adopt -f FILE --max 9 | kubectl replace --force -f -"),
        (("status", "--for", "Running", "--timeout", "0"), "kubectl edl status resnet -n default"),
        (("doctor",), "fix: kubectl edl install --image IMAGE"),
        (("upgrade",), "kubectl edl install --image IMAGE"),
        (("certs", "renew"), "kubectl edl install --image IMAGE"),
        (("install",), "&& kubectl edl install"),
        (("top", "nodes", "nope"), "all of them: kubectl get nodes"),
        (("simulate", "--live", "--add-nodes", "1", "--like", "x"), "kubectl get nodes"),
        (("uninstall", "--dry-run", "client"), """-p '{"spec":{"suspend":false}}'"""),
    ],
)
def test_a_suggested_command_reaches_the_same_cluster_as_the_same_user(
    arguments: tuple[str, ...], suggested: str
) -> None:
    stage = Stage()
    stage.put(job("resnet", framework="none", min="1", max="4"))
    if "mnist" in arguments:
        stage.put(job("mnist", framework="pytorch", min="1", max="4"))
    found = stage.run(*arguments, "--context", "my cluster", "--as", "ann")
    assert f"{suggested} --context 'my cluster' --as ann" in found.out + found.err


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (("status", "nobody"), "all of them: kubectl edl status -A"),
        (("doctor",), "fix: kubectl edl install --image IMAGE"),
        (("upgrade",), "kubectl edl install --image IMAGE"),
        (("certs", "renew"), "kubectl edl install --image IMAGE"),
        (("queue",), "nothing is started or resized; kubectl edl doctor"),
    ],
)
def test_suggested_commands_keep_the_system_namespace(
    arguments: tuple[str, ...], suggested: str
) -> None:
    stage = Stage()
    stage.cluster.delete(ObjectRef("Lease", "edl-system", "edl-reconciler"))
    found = stage.run(*arguments, "--context", "prod", "--system-namespace", "ops")
    assert f"{suggested} --context prod --system-namespace ops" in found.out + found.err
    kubectl = stage.run("top", "nodes", "nope", "--system-namespace", "ops").err
    assert kubectl.endswith("kubectl get nodes\n"), "which has no such flag"


def test_doctor_hints_keep_the_cluster_flags() -> None:
    stage = Stage()
    stage.cluster.delete(ObjectRef("Lease", "edl-system", "edl-reconciler"))
    hint = "nothing is started or resized; kubectl edl doctor --kubeconfig /k\n"
    assert stage.run("status", "--kubeconfig", "/k").err.startswith(
        "hint: no reconciler is running"
    )
    assert hint in stage.run("queue", "--kubeconfig", "/k").err
    assert hint in stage.run("status", "--kubeconfig", "/k").err
