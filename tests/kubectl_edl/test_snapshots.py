"""Every screen as it is: as ASCII on 80 columns, as UTF-8 on 120, and with its colours.

EDL_SNAPSHOTS=renew writes them anew: look at the difference before you commit it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from edl import contract
from edl.writes import Json
from tests.kubectl_edl.stage import Stage, event, lease, mnist, node, pod, role_manifests

FOLDER = Path(__file__).parent / "snapshots"
RENEW = os.environ.get("EDL_SNAPSHOTS") == "renew"
_VERSION = re.compile(r"kubectl-edl \S+")
HISTORY = """2026-11-21T11:55:30Z Started 2 2 the gang fits
2026-11-21T11:57:00Z ScaledUp 2 6 idle capacity: 6 of 12 fit
2026-11-21T11:59:00Z ScaledDown 6 4 default/web-1 has a higher priority"""
UNSCHEDULABLE = "0/2 nodes are available: 2 Insufficient cpu. preemption: not helpful"
SCENARIO = """
horizon: 1h
nodes:
  - {name: node, count: 2, cpu: 4, memory: 8Gi}
jobs:
  - {name: first, min: 1, max: 8, cpu: 1, memory: 1Gi, work: 1600}
  - {name: second, at: 60, min: 2, max: 4, cpu: 1, memory: 1Gi, length: 100}
"""


@dataclass(frozen=True)
class View:
    """A terminal; `flags` only for commands with colours."""

    width: int
    unicode: bool
    flags: tuple[str, ...] = ()


VIEWS = {
    "ascii-80": View(80, unicode=False),
    "utf8-120": View(120, unicode=True),
    "colour-120": View(120, unicode=True, flags=("--color", "always")),
}
SCREENS: Mapping[str, tuple[str, ...]] = {
    "status": ("status",),
    "status-all-wide": ("status", "-A", "-o", "wide"),
    "status-none": ("status", "-n", "empty"),
    "status-job": ("status", "mnist"),
    "status-job-queued": ("status", "bert"),
    "status-watched": ("status", "-w"),
    "status-job-watched": ("status", "mnist", "-w"),
    "queue": ("queue",),
    "plan": ("plan",),
    "plan-diff": ("plan", "--diff"),
    "explain": ("explain", "mnist"),
    "explain-queued": ("explain", "bert"),
    "history": ("history", "mnist"),
    "events": ("events",),
    "events-job-wide": ("events", "mnist", "-o", "wide"),
    "top-jobs": ("top",),
    "top-nodes": ("top", "nodes"),
    "top-nodes-wide": ("top", "nodes", "-o", "wide"),
    "top-cluster": ("top", "cluster"),
    "simulate": ("simulate", "-f", "SCENARIO", "--policy", "fair", "--plain"),
    "simulate-wide": ("simulate", "-f", "SCENARIO", "--policy", "fair", "-o", "wide"),
    "version": ("version",),
}
COLOURLESS = frozenset({"simulate", "simulate-wide", "version"})

_STEERING = re.compile(r"␛\[[0-9;?]*[A-Za-z]")


def scene() -> Stage:
    """A running job with a pending pod, a queued job, an incomplete job, and two nodes."""
    stage = Stage()
    lease(stage)
    for number in (1, 2):
        made = node(f"node-{number}", cpu="12")
        made["status"]["allocatable"]["nvidia.com/gpu"] = "2"
        stage.create(made)
    mnist(stage)
    notes = {contract.HISTORY: HISTORY, contract.STARTED_AT: "2026-11-21T11:55:30Z"}
    stage.patch("mnist-worker", {"metadata": {"annotations": notes}})
    stage.minutes_ago = 2
    for manifest in role_manifests("bert", "chief=1,ps=4,worker=3..12"):
        stage.put(manifest)
    stage.put(role_manifests("part", "chief=1,ps=1")[0])
    stage.create(event("mnist-worker", "Grown", "worker 2 to 6: idle capacity", minutes_ago=3))
    waits = event(
        "mnist-worker-3-x7k2p", "FailedScheduling", UNSCHEDULABLE, minutes_ago=1, warning=True
    )
    stage.create(waits | {"involvedObject": {"kind": "Pod", "name": "mnist-worker-3-x7k2p"}})
    for name in ("mnist-chief-0-x0", "mnist-worker-0-x0"):
        usage = {"cpu": "1234m", "memory": "1536Mi"}
        container = {"name": "main", "usage": usage}
        stage.create({"kind": "PodMetrics", "metadata": {"name": name}, "containers": [container]})
    stage.create(
        {
            "kind": "NodeMetrics",
            "metadata": {"name": "node-1"},
            "usage": {"cpu": "6", "memory": "9Gi"},
        }
    )
    return stage


def ends(stage: Stage) -> Json:
    """What happens while it is watched: the pod that waits gets its node."""
    stage.delete("mnist-worker-3-x3", "Pod")
    return stage.create(pod(stage.job("mnist-worker"), 3, "node-2"))


def looked(screen: str, view: View, tmp_path: Path) -> str:
    stage = scene()
    stage.width, stage.height, stage.unicode = view.width, 45, view.unicode
    stage.between = [partial(ends, stage)]
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO)
    arguments = [str(scenario) if one == "SCENARIO" else one for one in SCREENS[screen]]
    found = stage.run(*arguments, *view.flags)
    assert found.code == 0, found.err
    beside = found.err.replace(str(tmp_path), "")
    whole = "".join((found.out, *(f"[stderr] {line}\n" for line in beside.splitlines())))
    return _VERSION.sub("kubectl-edl VERSION", whole).replace("\x1b", "␛")


def cases() -> Iterator[tuple[str, str]]:
    for screen in SCREENS:
        for name, view in VIEWS.items():
            if not (view.flags and screen in COLOURLESS):
                yield screen, name


@pytest.mark.parametrize(("screen", "view"), list(cases()))
def test_a_screen_equals_its_snapshot(screen: str, view: str, tmp_path: Path) -> None:
    file = FOLDER / f"{screen}.{view}.txt"
    found = looked(screen, VIEWS[view], tmp_path)
    if RENEW:
        file.write_text(found)
    assert file.exists(), f"a new screen: EDL_SNAPSHOTS=renew writes {file.name}"
    assert found == file.read_text(), f"{file.name}: EDL_SNAPSHOTS=renew if this is what you want"


def test_every_snapshot_has_a_screen() -> None:
    known = {f"{screen}.{view}.txt" for screen, view in cases()}
    assert {file.name for file in FOLDER.iterdir()} == known


@pytest.mark.parametrize("screen", SCREENS)
def test_ascii_is_ascii_and_the_usual_form_fits_80_columns(screen: str) -> None:
    lines = (FOLDER / f"{screen}.ascii-80.txt").read_text().splitlines()
    shown = [_STEERING.sub("", line) for line in lines if not line.startswith("[stderr]")]
    assert all(line.isascii() for line in shown)
    sentences = screen.startswith("explain")
    assert "wide" in screen or sentences or max(map(len, shown), default=0) <= 80
