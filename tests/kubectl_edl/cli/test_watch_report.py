import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event

import pytest
import yaml

from edl import contract
from edl.errors import Forbidden, Gone, Unreachable
from edl.kube.cluster import ListOptions, PluginCluster, RawEvent, RawList
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.terminal import Attention, listening
from kubectl_edl.client.change_watch import patience, wakes, watched
from kubectl_edl.output.alternate_screen import ENTER, LEAVE
from tests.edl.kube.servers import Answer, serving
from tests.fake_cluster.cluster import FakeCluster
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced
from tests.kubectl_edl.stage import NOW, WITHIN, Stage, job, mnist, node
from tests.kubectl_edl.test_startup import kubeconfig

ELASTIC = ListOptions("Job", labels=contract.FRAMEWORK)
HOME, REST = "\x1b[H", "\x1b[K"
LOAD = "Cluster: 1 queued; no node is ready"


def pictures(drawn: str) -> list[str]:
    """The texts drawn on the alternate screen, and last the one that stays."""
    screen, _, after = drawn.removeprefix(ENTER).partition(LEAVE)
    found = [one.removesuffix("\x1b[J").replace(REST, "") for one in screen.split(HOME)[1:]]
    assert drawn.startswith(ENTER)
    assert after == found[-1]
    return found


def reason(text: str) -> Json:
    return {"metadata": {"annotations": {contract.REASON: "Cooldown", contract.MESSAGE: text}}}


@pytest.fixture
def stage() -> Stage:
    """A running job; while it is watched, its reason changes and another job comes."""
    stage = Stage()
    mnist(stage)
    stage.put(job("resnet", framework="none", min="1", max="4"))
    stage.between = [
        lambda: None,
        lambda: stage.patch("mnist-worker", reason("held")),
        lambda: stage.put(job("new", framework="none")),
    ]
    return stage


def test_a_pipe_gets_the_table_once_and_then_the_lines_that_changed(stage: Stage) -> None:
    lines = stage.run("status", "-w").out.splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "mnist", "resnet", "mnist", "new"]
    assert lines[3].split()[5] == "held"
    assert lines[3].index("held") == lines[0].index("MESSAGE")


def test_a_change_outside_the_shown_columns_prints_no_line(stage: Stage) -> None:
    started = {"metadata": {"annotations": {contract.STARTED_AT: "2026-11-21T11:56:00Z"}}}
    stage.between = [lambda: stage.patch("mnist-chief", started)]
    assert len(stage.run("status", "-w").out.splitlines()) == 3
    stage.patch("mnist-chief", {"metadata": {"annotations": {contract.STARTED_AT: None}}})
    assert len(stage.run("status", "-w", "-o", "wide").out.splitlines()) == 4


def test_a_watched_job_is_printed_again_when_it_changes(stage: Stage) -> None:
    out = stage.run("status", "mnist", "-w").out
    assert out.count("Name:       mnist") == 2
    assert out.index("Reason:     idle capacity: 4 of 12 fit") < out.index("Reason:     held")


def test_watched_documents_are_one_object_each(stage: Stage) -> None:
    found = list(yaml.safe_load_all(stage.run("status", "-w", "-o", "yaml").out))
    names = [one["metadata"]["name"] for one in found if one]
    assert names == ["mnist", "resnet", "mnist", "new"]
    text = stage.run("status", "-n", "empty", "-w", "-o", "json").out
    assert text == ""


def test_watched_json_can_be_read_object_by_object(stage: Stage) -> None:
    text, found = stage.run("status", "-w", "-o", "json").out, []
    while text.strip():
        one, end = json.JSONDecoder().raw_decode(text)
        found.append((one["metadata"]["name"], one["message"]))
        text = text[end:].lstrip()
    assert found[0] == ("mnist", "idle capacity: 4 of 12 fit")
    assert found[2] == ("mnist", "held")


def test_a_terminal_is_redrawn_in_place(stage: Stage) -> None:
    stage.width = 120
    found = pictures(stage.run("status", "-w").out)
    assert [len(one.splitlines()) for one in found] == [17, 17, 17, 19]
    assert all(one.startswith(f"{LOAD}\n2 training jobs: ") for one in found[:3])


def test_the_load_of_the_cluster_is_printed_first(stage: Stage) -> None:
    stage.width, stage.between = 120, []
    made = node("node-1", cpu="16")
    made["status"]["allocatable"]["nvidia.com/gpu"] = "4"
    stage.create(made)
    (found,) = pictures(stage.run("status", "-w").out)
    assert found.splitlines()[0] == (
        "Cluster: 1 queued; requested: CPU 62 % of 16, memory 0 % of 64Gi, nvidia.com/gpu 0 % of 4"
    )


def test_without_cluster_rights_the_load_is_omitted(stage: Stage) -> None:
    stage.width, stage.between, stage.wrapped = 120, [], fenced("Node")
    (found,) = pictures(stage.run("status", "-w").out)
    assert found.startswith("2 training jobs: ")


def test_a_low_terminal_shows_the_load(stage: Stage) -> None:
    stage.width, stage.height, stage.between = 120, 12, []
    (found,) = pictures(stage.run("status", "-w").out)
    assert found.startswith(LOAD)
    assert len(found.splitlines()) < 12


def test_a_watch_without_jobs_prints_a_message() -> None:
    stage = Stage(width=100)
    stage.between = [lambda: stage.put(job("new", framework="none"))]
    first, second = pictures(stage.run("status", "-w").out)
    assert first.endswith("No training jobs found in default namespace.\n")
    assert "1 training job: 1 Queued\n\nNAME " in second


def test_an_error_leaves_the_alternate_screen() -> None:
    stage = Stage(width=100)
    found = stage.run("status", "nobody", "-w")
    assert found.code == 3
    assert found.out == ENTER + LEAVE


def test_the_queue_can_be_watched_as_well(stage: Stage) -> None:
    lines = stage.run("queue", "-w").out.splitlines()
    assert lines[0].split()[0] == "POSITION"
    assert [line.split()[1] for line in lines[1:3]] == ["resnet", "new"]


def test_an_api_server_that_is_away_is_waited_for(stage: Stage) -> None:
    away: list[str] = []

    class Flaky(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if away:
                raise Unreachable("no answer from the API server")
            return super().list(selection)

    def back() -> None:
        away.clear()
        stage.patch("mnist-worker", reason("held"))

    stage.wrapped = Flaky
    stage.between = [lambda: away.append("now"), lambda: None, back]
    found = stage.run("status", "-w")
    assert found.code == 0
    assert found.err == "waiting: no answer from the API server\n"
    assert found.out.splitlines()[-1].split()[5] == "held"


def _deletions(stage: Stage) -> list[Callable[[], object]]:
    return [
        partial(stage.cluster.delete, ObjectRef("Job", "default", f"mnist-{role}"))
        for role in ("chief", "ps", "worker")
    ]


@pytest.mark.parametrize("form", ["wide", "json", "name"])
@pytest.mark.parametrize("names", [["mnist"], ["mnist", "resnet"]])
def test_a_job_that_is_deleted_ends_its_watch(stage: Stage, names: list[str], form: str) -> None:
    stage.between = _deletions(stage)
    found = stage.run("status", *names, "-w", "-o", form)
    assert (found.code, found.err) == (3, 'error: training job "mnist" was deleted\n')


def test_a_watch_of_one_jobs_name_ends_with_that_job(stage: Stage) -> None:
    """The other roles of the training job are still there."""
    stage.between = _deletions(stage)[2:]
    found = stage.run("status", "mnist-worker", "-w")
    assert (found.code, found.err) == (3, 'error: Job "mnist-worker" was deleted\n')


@pytest.mark.parametrize("form", ["wide", "json", "name"])
def test_a_watch_of_all_jobs_names_each_that_is_deleted(stage: Stage, form: str) -> None:
    gone = "default/mnist was deleted or released"
    stage.between = [*_deletions(stage), lambda: None]
    found = stage.run("status", "-w", "-o", form)
    assert (found.code, found.err) == (0, f"{gone}\n")
    stage.between = [partial(stage.delete, "resnet")]
    found = stage.run("status", "-w", "-o", form, "-l", "edl.dev/framework=none")
    assert (found.code, found.err) == (
        0,
        "default/resnet was deleted or released, or its labels no longer match\n",
    )


class Script:
    """A watch with these events or errors, then without events until it is closed."""

    def __init__(self, entries: Sequence[RawEvent | Exception]) -> None:
        self._entries = entries
        self._closed = Event()

    def __iter__(self) -> Iterator[RawEvent]:
        for entry in self._entries:
            if isinstance(entry, Exception):
                raise entry
            yield entry
        self._closed.wait(WITHIN)

    def close(self) -> None:
        self._closed.set()


class Watched(ClusterWrapper):
    """A cluster whose watches are scripted."""

    def __init__(self, *scripts: list[RawEvent | Exception]) -> None:
        super().__init__(FakeCluster(lambda: NOW))
        self._scripts = iter(scripts)

    def list(self, selection: ListOptions) -> RawList:
        assert selection == ELASTIC
        return RawList((), "7")

    def watch(self, selection: ListOptions, version: str) -> Script:
        assert (selection, version) == (ELASTIC, "7")
        return Script(next(self._scripts, ()))


def test_a_wait_checks_again_at_its_deadline() -> None:
    limits = [timedelta(seconds=7), timedelta(seconds=22)]
    assert patience([], 100.0) == patience(limits, 0.0) == patience(limits, 23.0) == 5.0
    assert patience(limits, 4.5) == 2.5
    assert patience(limits, 20.0) == 2.0


def test_a_change_wakes_the_watch(stage: Stage) -> None:
    looks = wakes(stage.cluster, ELASTIC, Attention())
    assert list(islice(looks, 1)) == [None]
    stage.patch("mnist-worker", reason("held"))
    assert list(islice(looks, 1)) == [None]


@pytest.mark.parametrize("error", [Gone("too old", 410), Forbidden("may not watch", 403)])
def test_a_broken_watch_is_resumed(error: Exception) -> None:
    looks = wakes(Watched([error]), ELASTIC, Attention())
    assert list(islice(looks, 1)) == [None]


def test_watched_lists_are_requested_once(stage: Stage) -> None:
    counted = Counted(stage.cluster)
    attention = Attention()
    cluster = watched(attention, counted, [ELASTIC])
    looks = wakes(cluster, ELASTIC, attention)
    assert list(islice(looks, 1)) == [None]
    stage.patch("mnist-worker", reason("held"))
    assert list(islice(looks, 1)) == [None]
    listed = [json.loads(item) for item in cluster.list(ELASTIC).items]
    noted = {one["metadata"]["name"]: one["metadata"]["annotations"] for one in listed}
    assert noted["mnist-worker"][contract.MESSAGE] == "held"
    assert counted.lists == 1
    looks.close()  # type: ignore[attr-defined]


class Counted(ClusterWrapper):
    """Counts list requests, and passes them on."""

    def __init__(self, cluster: PluginCluster) -> None:
        super().__init__(cluster)
        self.lists = 0

    def list(self, selection: ListOptions) -> RawList:
        self.lists += 1
        return super().list(selection)


def test_a_terminal_of_another_size_is_drawn_at_once() -> None:
    attention = Attention()
    with listening(attention, io.StringIO()):
        os.kill(os.getpid(), signal.SIGWINCH)
        assert attention.wait(WITHIN) is True
    looks = wakes(Watched([Forbidden("may not watch", 403)]), ELASTIC, attention)
    assert list(islice(looks, 1)) == [None]


@pytest.mark.parametrize("key", ["q", "Q"])
def test_q_ends_a_watch_and_restores_the_terminal(key: str) -> None:
    mine, theirs = pty.openpty()
    attention = Attention()
    with os.fdopen(theirs) as terminal:
        before = termios.tcgetattr(terminal)
        with listening(attention, terminal):
            os.write(mine, f"x{key}".encode())
            attention.wait(WITHIN)
            assert attention.ended
        assert termios.tcgetattr(terminal) == before
    os.close(mine)
    assert list(wakes(Watched([Forbidden("may not", 403)]), ELASTIC, attention)) == []


def test_a_process_on_a_terminal_ends_with_q(tmp_path: Path) -> None:
    nothing = Answer(200, {"metadata": {"resourceVersion": "1"}, "items": []})
    mine, theirs = pty.openpty()
    with serving(nothing) as (_, address):
        command = [sys.executable, "-m", "kubectl_edl", "status", "-w"]
        watching = subprocess.Popen(
            [*command, "--kubeconfig", kubeconfig(tmp_path, address)],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm"},
        )
        os.close(theirs)
        seen = b""
        while b"No training jobs found" not in seen:
            assert select.select([mine], [], [], WITHIN)[0], seen
            seen += os.read(mine, 4096)
        assert seen.startswith(ENTER.encode())
        os.write(mine, b"q")
        assert watching.wait(WITHIN) == 0
    os.close(mine)
