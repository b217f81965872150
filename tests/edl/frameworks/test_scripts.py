"""The scripts run under a real sh, with a kubectl that is a script itself."""

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from edl.contract import EDL_HOSTFILE, KUBECTL_DIRECTORY
from edl.frameworks import scripts
from tests.waiting import until

KUBECTL = """#!/bin/sh
# What `exec` starts does not end with kubectl, and begins a session of its own, as in a real pod.
echo "$@" >> "$(dirname "$0")/calls"
here=$(dirname "$0")
case $1-$2 in
get-pods) if [ -e "$here/away" ]; then rm "$here/away"; exit 1; fi; cat "$here/pods" ;;
get-pod) cat "$here/state" ;;
exec-*) while [ "$1" != -- ]; do shift; done; shift; exec 3<&0; setsid "$@" <&3 & wait "$!" ;;
esac
"""
HOST = "mnist-worker-1.mnist.lab.svc"
ODD = (
    "it's",
    'a "b" c',
    "a\nb",
    "$(touch executed)",
    "`touch executed`",
    "; touch executed #",
    "&& touch executed",
    "*",
    "~",
    "-n",
    "${HOME}",
    "\\",
    "é\t ",
)
"""What no shell may read as anything but a text. `executed` would be a file in its directory."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where kubexec.sh and its kubectl live; `pods` and `state` are what kubectl finds."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    (tmp_path / "pods").write_text("mnist-worker-1-x2x4z ")
    (tmp_path / "state").write_text("Running/True/True")
    script = scripts.KUBEXEC.replace(KUBECTL_DIRECTORY, str(tmp_path))
    (tmp_path / "kubexec.sh").write_text(script.replace("sleep 20", "sleep 0.1"))
    yield tmp_path
    for process in (tmp_path / "started").read_text().split() if is_marked(tmp_path) else ():
        with contextlib.suppress(ProcessLookupError):  # as it should be
            os.kill(int(process), signal.SIGKILL)


def is_marked(folder: Path) -> bool:
    return (folder / "started").exists()


def kubexec(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", str(folder / "kubexec.sh"), *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=30, check=False
    )


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def test_a_command_runs_in_the_pod_behind_the_host(folder: Path) -> None:
    done = kubexec(folder, HOST, "echo", "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
    found, started, *_ = calls(folder)
    assert "batch.kubernetes.io/job-name=mnist-worker" in found
    assert "batch.kubernetes.io/job-completion-index=1" in found
    assert started.startswith("exec --quiet --stdin mnist-worker-1-x2x4z -- /bin/sh")


def test_words_are_one_command_line_as_with_ssh(folder: Path) -> None:
    done = kubexec(folder, "mnist-worker-1", "X='a  b';", 'echo "$X"', "| tr a-z A-Z")
    assert done.stdout == "A  B\n"


def test_quotes_and_newlines_survive_as_horovod_sends_them(folder: Path) -> None:
    odd = "a 'b' \"c\" $HOME `id` \\ \n*"
    command = f"cd / > /dev/null 2>&1 ; env ODD={shlex.quote(odd)} printenv ODD"
    done = kubexec(folder, HOST, command)
    assert done.stdout == f"{odd}\n"


@pytest.mark.parametrize("odd", ODD)
def test_a_value_that_is_quoted_for_ssh_arrives_as_it_is(folder: Path, odd: str) -> None:
    """In a variable, as an argument, and as the name of a script."""
    (folder / odd).write_text('printf "%s|" "$0" "$1" "$VALUE"\n')
    quoted = shlex.quote(odd)
    done = kubexec(folder, HOST, f"VALUE={quoted} sh ./{quoted} {quoted}")
    assert done.stdout == f"./{odd}|{odd}|{odd}|"
    assert not (folder / "executed").exists()


@pytest.mark.parametrize("odd", ODD)
def test_a_host_is_never_read_as_a_command(folder: Path, odd: str) -> None:
    (folder / "pods").write_text("")
    script = folder / "kubexec.sh"
    script.write_text(script.read_text().replace("for pause in 1 2 4 8 0", "for pause in 0"))
    for host in (odd, f"{odd}-1", f"mnist-{odd}.mnist.lab.svc"):
        done = kubexec(folder, host, "true")
        assert done.returncode == 1
        assert "has no running pod" in done.stderr
    assert not (folder / "executed").exists()
    # One word each, however odd: kubectl sees a selector, never options of its own.
    assert all(call.startswith("get pods --selector=") for call in looks(folder))


def looks(folder: Path) -> list[str]:
    """What kubectl was asked for pods; a host with a newline takes two lines."""
    return [call for call in calls(folder) if call.startswith(("get", "exec"))]


@pytest.mark.parametrize(
    "script",
    [scripts.KUBEXEC, scripts.DISCOVER_HOSTS, scripts.WAIT_FOR_COMMANDS, scripts.WAIT_FOR_SSH],
)
def test_a_script_is_whole_and_evaluates_nothing(script: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-n"], input=script, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "eval" not in script.split()
    # A user's words stand behind `sh -c 'constant' name`, as arguments.
    assert "/bin/sh -c" not in script.replace('/bin/sh -c "$in_the_pod" kubexec "$*"', "").replace(
        '/bin/sh -c "$1" </dev/null', ""
    )


def test_a_command_reads_nothing(folder: Path) -> None:
    assert kubexec(folder, HOST, "cat; echo read").stdout == "read\n"


@pytest.mark.parametrize(("end", "code"), [("exit 7", 7), ("kill -ABRT $$", 134)])
def test_the_commands_own_end_is_reported(folder: Path, end: str, code: int) -> None:
    assert kubexec(folder, HOST, f"true; {end}").returncode == code


def test_errors_stay_errors(folder: Path) -> None:
    done = kubexec(folder, HOST, "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_a_host_without_a_pod_is_an_error(folder: Path) -> None:
    (folder / "pods").write_text("")
    done = kubexec(folder, "mnist-worker-1", "true")
    assert done.returncode == 1
    assert done.stderr == "kubexec: host mnist-worker-1 has no running pod\n"


def test_an_api_server_that_is_away_for_a_moment_is_waited_for(folder: Path) -> None:
    (folder / "away").touch()
    assert kubexec(folder, HOST, "echo hello").stdout == "hello\n"


@pytest.mark.parametrize("state", ["", "Failed/False/False", "Running/True/False"])
def test_a_command_ends_with_its_pod(folder: Path, state: str) -> None:
    (folder / "state").write_text(state)
    assert kubexec(folder, HOST, "exec sleep 20").returncode == 143


def test_a_pod_with_a_restarted_container_is_not_lost(folder: Path) -> None:
    (folder / "state").write_text("Running/False/False")
    looked = f"until [ $(grep -c 'get pod ' {folder}/calls) -gt 2 ]; do sleep 0.05; done; echo yes"
    assert kubexec(folder, HOST, looked).stdout == "yes\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_command_ends_when_kubexec_is_ended(folder: Path, number: signal.Signals) -> None:
    with started(folder) as (process, remote):
        process.send_signal(number)
        assert process.wait(timeout=30) in (143, -signal.SIGKILL)
        until(lambda: not any(map(is_running, remote)))


def test_the_command_ends_when_its_connection_breaks(folder: Path) -> None:
    with started(folder) as (process, remote):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for child in children:  # as Horovod does it
            os.kill(int(child), signal.SIGTERM)
        assert process.wait(timeout=30) == 143
        until(lambda: not any(map(is_running, remote)))


def test_a_command_that_will_not_end_is_killed(folder: Path) -> None:
    with started(folder, "trap '' TERM;") as (process, remote):
        process.terminate()
        process.wait(timeout=30)
        until(lambda: not any(map(is_running, remote)))


def test_nothing_is_left_behind(folder: Path) -> None:
    with started(folder) as (process, (_, child)):
        os.kill(int(child), signal.SIGKILL)
        assert process.wait(timeout=30) == 137
        until(lambda: not of_folder(folder))
    left = {path.name for path in folder.iterdir()}
    assert left == {"kubectl", "kubexec.sh", "pods", "state", "calls", "started"}


@contextlib.contextmanager
def started(
    folder: Path, first: str = ""
) -> Iterator[tuple[subprocess.Popen[bytes], tuple[str, str]]]:
    """A kubexec.sh that runs, and the command in the pod with its child."""
    marks = folder / "started"
    command = f"{first} sleep 300 & echo $$ $! > {marks}.new; mv {marks}.new {marks}; wait $!"
    process = subprocess.Popen(["/bin/sh", str(folder / "kubexec.sh"), HOST, command])
    try:
        until(lambda: is_marked(folder))
        shell, child = marks.read_text().split()
        yield process, (shell, child)
    finally:
        process.kill()
        process.wait()


def is_running(process: str) -> bool:
    """A process that has ended may still wait for its parent's attention."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def of_folder(folder: Path) -> list[str]:
    """The processes that were started by, or for, this folder's kubexec.sh."""
    found = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [path.name for path in found if is_running(path.name) and is_of(folder, path)]


def is_of(folder: Path, process: Path) -> bool:
    try:
        return str(folder).encode() in (process / "cmdline").read_bytes()
    except OSError:
        return False


def test_discovery_prints_the_live_host_list(tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("a:1\nb:1\n")
    script = scripts.DISCOVER_HOSTS.replace(EDL_HOSTFILE, str(hostfile))
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "a:1\nb:1\n"


@pytest.mark.parametrize("odd", ODD)
def test_discovery_prints_the_file_as_it_is_and_evaluates_nothing(tmp_path: Path, odd: str) -> None:
    (tmp_path / "hostfile").write_text(f"{odd}\n")
    script = scripts.DISCOVER_HOSTS.replace(EDL_HOSTFILE, str(tmp_path / "hostfile"))
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == f"{odd}\n"
    assert not (tmp_path / "executed").exists()


def test_a_worker_leaves_when_its_commands_have_ended_and_is_not_done(tmp_path: Path) -> None:
    for process in ("1", "7"):
        (tmp_path / process).touch()
    command = scripts.WAIT_FOR_COMMANDS.replace("/proc/", f"{tmp_path}/").replace(
        "sleep 1;", f"touch {tmp_path}/seen; sleep 0.1;"
    )
    worker = subprocess.Popen(
        ["/bin/sh", "-c", command.replace("while :", "echo waits; while :")],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"waits\n"
        worker.terminate()
        until((tmp_path / "seen").exists)
        assert worker.poll() is None
        (tmp_path / "7").unlink()
        assert worker.wait(timeout=30) == 143
    finally:
        with contextlib.suppress(ProcessLookupError):  # nothing was left of it
            os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()


def test_a_worker_leaves_though_its_own_sleep_missed_the_signal(tmp_path: Path) -> None:
    """As a process does that has begun at the same moment."""
    (tmp_path / "1").touch()
    deaf = f"sh -c 'trap \"\" TERM; touch {tmp_path}/begun; exec sleep 300'"
    command = scripts.WAIT_FOR_COMMANDS.replace("/proc/", f"{tmp_path}/")
    worker = subprocess.Popen(
        ["/bin/sh", "-c", command.replace("sleep 3600", deaf)], start_new_session=True
    )
    try:
        until((tmp_path / "begun").exists)
        worker.terminate()
        assert worker.wait(timeout=30) == 143
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
