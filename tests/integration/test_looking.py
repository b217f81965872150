"""`status -w` in a real terminal, `top`, `events` and templates on a cluster where we run."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from kubectl_edl.output import jsonpath
from kubectl_edl.output.printer import form
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Layout
from tests.integration.test_plugin import WITHIN, Shell, running, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

TEMPLATES = (
    "{.items[*].metadata.name}",
    '{range .items[*]}{.kind}{"\\t"}{.metadata.name}{"\\n"}{end}',
    '{.items[?(@.kind=="Pod")].status.phase}',
    "{.items[?(@.spec.parallelism>=4)].metadata.name}",
    "{.items[?(@.spec.parallelism)].spec.parallelism}",
    r"{.items[0].metadata.labels.edl\.dev/framework}",
    r"{.items[0].metadata.labels['edl\.dev/min','edl\.dev/max']}",
    "{.items[0].spec.template.spec.containers[0].resources}",
    "{.items[0].metadata.labels}",
    "{.items[-1].kind} {.items[-1:].kind} {.items[0:2].kind} {.items[::2].kind}",
    "{.items[0,1].metadata.name}",
    "{.nothing}{.items[*].nothing}",
    "{..containerPort}{.items[0]..command}",
    "{.items[0].spec.suspend} {.items[0].spec.parallelism}",
    "{@.kind} {$.apiVersion} text",
    "{range .items[*]}{range .spec.containers[*]}{.name},{end};{end}",
    "{range .nothing[*]}never{end}always",
    "{['kind']}",
    "{.items[*]['metadata.name']}",
    '{"quoted \\" \\t"}',
)
WRONG = (
    *("{.items", "{items}", "{end}", "{.items[x]}", "{.a[?(@.b==1]}"),
    *("{.items[99]}", "{.kind[0]}", "{.items[?(@.kind>1)]}"),
)
COLUMNS = (
    "NAME:.metadata.name,KIND:kind",
    "LABELS:{.metadata.labels},NONE:.nothing,ALL:.spec.template.spec.containers[*].name",
    "P:.spec.parallelism,S:.spec.suspend,R:.spec.template.spec.containers[0].resources",
)
METRICS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "pods.metrics.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in for a test"},
    },
    "spec": {
        "group": "metrics.k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "pods", "kind": "PodMetrics", "listKind": "PodMetricsList"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


@pytest.fixture
def shell(installed: Stage) -> Shell:
    """A job that has grown to 4."""
    shell = Shell(installed.cluster, installed.namespace)
    shell.apply(sweep())
    shell.until("sweep", running(4))
    return shell


class Terminal:
    """`kubectl-edl ARGS` in a pseudo terminal of 100 columns and 30 lines."""

    def __init__(self, shell: Shell, *args: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        environ = {**os.environ, **shell.cluster.kubectl_environment()}
        environ |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            environ.pop(name, None)
        program = str(Path(sys.executable).parent / "kubectl-edl")
        self.process = subprocess.Popen(
            [program, *args, "-n", shell.namespace],
            env=environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def until(self, pattern: str) -> str:
        """All that was written up to a match."""
        deadline = time.monotonic() + WITHIN
        while re.search(pattern, self.text) is None:
            assert time.monotonic() < deadline, self.text
            if select.select([self._ours], [], [], 0.5)[0]:
                self.text += os.read(self._ours, 65536).decode()
        found, self.text = self.text, ""
        return found

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def press(self, key: str) -> int:
        """The exit code of a program that the key ends."""
        os.write(self._ours, key.encode())
        return self.process.wait(WITHIN)

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(WITHIN)
        self.text += self._rest()
        return code

    def _rest(self) -> str:
        """What the program wrote at its end."""
        found = b""
        with contextlib.suppress(OSError):  # all was read, and nobody writes any more
            while select.select([self._ours], [], [], 0)[0]:
                found += os.read(self._ours, 65536)
        return found.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)


@contextlib.contextmanager
def terminal(shell: Shell, *args: str) -> Iterator[Terminal]:
    made = Terminal(shell, *args)
    try:
        yield made
    finally:
        made.close()


def test_a_terminal_shows_a_live_tree_until_it_is_interrupted(shell: Shell) -> None:
    with terminal(shell, "status", "-w") as screen:
        first = screen.until(r"idle capacity: 4 of 4 fit\x1b\[K\r\n")
        assert first.startswith("\x1b[?1049h")
        assert re.search(r"Cluster: \d+ queued; requested: CPU \d+ % of \d+", first)
        assert "1 training job: \x1b" not in first
        assert "└─ worker" in first
        assert "████         4/1..4" in first
        assert "\x1b[32mRunning\x1b[0m" in first
        shell.edl("scale", "sweep", "2")
        drawn = screen.until(r"██··         2/1\.\.4")
        assert "\x1b[H" in drawn, "it is drawn over the last picture"
        lines = drawn.replace("\r", "").split("\n")
        assert all(len(re.sub(r"\x1b\[[0-9;]*[mHJK]", "", line)) <= 100 for line in lines)
        screen.until("manual size")
        assert screen.interrupt() == 130, screen.text


def test_a_terminal_is_drawn_at_once_in_its_new_size_and_q_ends_it(shell: Shell) -> None:
    with terminal(shell, "status", "-w") as screen:
        screen.until(r"└─ worker")
        screen.resize(30, 60)
        drawn = screen.until(r"\x1b\[H(.|\n)*└─ worker(.|\n)*\x1b\[J")
        last = drawn.replace("\r", "").rpartition("\x1b[H")[2].split("\n")
        assert all(len(re.sub(r"\x1b\[[0-9;]*[mHJK]", "", line)) <= 60 for line in last)
        assert screen.press("q") == 0


def test_a_script_waits_for_a_phase(shell: Shell) -> None:
    assert shell.edl("status", "sweep", "--for", "Running", "--timeout", "1m").returncode == 0
    late = shell.edl("status", "sweep", "--for", "Succeeded", "--timeout", "1s")
    assert (late.returncode, late.stdout) == (5, "")
    assert late.stderr.startswith("error: not Succeeded in time: sweep is ")


def test_events_are_ours_and_kubernetes_own_in_the_order_of_time(shell: Shell) -> None:
    deadline = time.monotonic() + WITHIN
    wanted = {"Admitted", "Scheduled", "SuccessfulCreate"}
    found: list[Json] = []
    lines: list[str] = []
    # More may come between the two readings.
    while not wanted <= {one["reason"] for one in found} or len(lines) != len(found) + 1:
        assert time.monotonic() < deadline, (found, lines)
        found = json.loads(shell.edl("events", "sweep", "-o", "json").stdout)["items"]
        lines = shell.edl("events", "sweep").stdout.splitlines()
    assert lines[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    kinds = {one["involvedObject"]["kind"] for one in found}
    assert kinds == {"Job", "Pod"}


def test_top_says_what_it_does_not_know_and_what_is_idle(shell: Shell) -> None:
    found = shell.edl("top")
    assert found.returncode == 0
    cells = found.stdout.splitlines()[1].split()
    assert cells[:5] == ["sweep", "Running", "4", "4", "<unknown>"]
    assert "the cluster has no metrics-server" in found.stderr
    nodes = json.loads(shell.kubectl("edl", "top", "nodes", "-o", "json").stdout)["items"]
    assert sum(one["trainingPods"] for one in nodes) == 4
    cluster = shell.kubectl("edl", "top", "cluster")
    assert cluster.returncode == 0, cluster.stderr
    assert "Training jobs: 1 (1 Running)" in cluster.stdout
    assert re.search(r"Resource-hours: \S+ CPU-h", cluster.stdout)


def test_top_adds_up_what_the_metrics_api_measures(shell: Shell) -> None:
    if shell.kubectl("get", "--raw", "/apis/metrics.k8s.io").returncode == 0:
        pytest.skip("this cluster has a metrics-server of its own")
    pods = json.loads(shell.kubectl("get", "pods", "-n", shell.namespace, "-o", "json").stdout)
    names = [pod["metadata"]["name"] for pod in pods["items"]]
    try:
        shell.cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump(METRICS))
        established = ("wait", "--for=condition=Established", "crd/pods.metrics.k8s.io")
        shell.cluster.kubectl(*established)
        until_served(shell, yaml.safe_dump_all(map(measured, names)))
        found = shell.edl("top")
        assert (found.returncode, found.stderr) == (0, "")
        cells = found.stdout.splitlines()[1].split()
        assert cells[3:7] == ["4", "500m", "512Mi", "256Mi"]
    finally:
        shell.cluster.kubectl("delete", "crd", "pods.metrics.k8s.io", "--ignore-not-found")


def measured(pod: str) -> Json:
    usage = {"name": "main", "usage": {"cpu": "125000000n", "memory": "64Mi"}}
    kind = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics"}
    return kind | {"metadata": {"name": pod}, "containers": [usage]}


def until_served(shell: Shell, manifest: str) -> None:
    """An API that was established a moment ago may be unknown for another one."""
    deadline = time.monotonic() + WITHIN
    create = ("create", "--validate=false", "-n", shell.namespace, "-f", "-")
    while (done := shell.kubectl(*create, given=manifest)).returncode:
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.2)


def test_templates_and_columns_print_what_kubectl_prints(shell: Shell) -> None:
    get = ("get", "jobs,pods", "-n", shell.namespace, "--show-managed-fields=false", "-o")
    document = json.loads(shell.kubectl(*get, "json").stdout)
    theirs = shell.kubectl(*get, "jsonpath=" + "|".join(TEMPLATES))
    assert theirs.returncode == 0, theirs.stderr
    ours = [jsonpath.execute(jsonpath.template(one), document) for one in TEMPLATES]
    assert ours == theirs.stdout.split("|")
    for template in WRONG:
        assert shell.kubectl(*get, f"jsonpath={template}").returncode == 1, template
        with pytest.raises(jsonpath.TemplateError):
            jsonpath.execute(jsonpath.template(template), document)


def test_custom_columns_are_kubectls_to_the_letter(shell: Shell) -> None:
    get = ("get", "jobs", "-n", shell.namespace, "-o")
    documents = json.loads(shell.kubectl(*get, "json").stdout)["items"]
    report = Report(sections=(), objects=documents, names=(), list_kind="JobList")
    for columns in COLUMNS:
        theirs = shell.kubectl(*get, f"custom-columns={columns}").stdout
        assert form(f"custom-columns={columns}").prints(report, Layout()) == theirs
