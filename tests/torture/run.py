"""One run: faults and churn at once, then peace, then judgement."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Thread
from typing import Final

import msgspec

from edl import contract
from edl.errors import Conflict, NotFound
from edl.kube.cluster import ListOptions
from edl.kube.decode.schemas import NodeObject
from edl.model import ObjectRef
from edl.quantities import Resources
from edl.writes import Json
from sandbox.processes.components import KWOK, ORDER
from tests.integration.support.stage import Stage, stage
from tests.torture import verdict
from tests.torture.churn import Commission, commissions
from tests.torture.lanes import Lanes
from tests.torture.laws import Judge, Patience, Violation
from tests.torture.ledger import Ledger
from tests.torture.observer import Observer
from tests.torture.report import Report
from tests.torture.scene import GANG_LIMIT, OURS, Scene
from tests.torture.sights import COUNTED
from tests.torture.users import Users

_REPAIR: Final = 90.0
"""Seconds beyond the gang's limit: leaders change, and the control plane is away meanwhile."""
_PEACE: Final = 300.0
"""Seconds in which every job must have ended when nothing strikes any more."""
_STILL: Final = 30.0
"""Seconds without any event after which those who live wait for the simulation."""
_TELLS_EVERY: Final = 30.0
_SEEN: Final = "sandbox.edl.dev/seen"
"""An annotation that says nothing: that it changes shows a pod to the simulation again."""
_TICK: Final = 0.2


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of it. `rest`: the longest pause after a fault, in seconds."""

    faults: int
    jobs: int
    seed: int
    rest: float


class Run:
    """Everything that takes part, once."""

    def __init__(self, scene: Scene, made: Stage, scale: Scale, ledger: Ledger) -> None:
        self.scene = scene
        self.stage = made
        self.scale = scale
        self.ledger = ledger
        self.judge = Judge(_allocatable(made), Patience(GANG_LIMIT + _REPAIR))
        self.observer = Observer(made.api, made.namespace, self.judge, ledger)
        self.lanes = Lanes(scene, ledger, scale, self.observer.struck)
        dice = Random(scale.seed)  # noqa: S311 - a seed, not a secret
        self.users = Users(made, ledger, commissions(scale.jobs, dice), dice)
        self._shown: frozenset[str] = frozenset()
        """UIDs of the pods that were shown to the simulation at the last stillness."""
        self._stills = 0

    def faults(self, say: Callable[[str], None]) -> None:
        """Until all have struck and all jobs have come."""
        self.observer.start()
        self.lanes.start(lambda: len(self.came) / self.scale.jobs)
        users = self.users.start(lambda: self.lanes.progress, self.living)
        told = time.monotonic()
        while not self._hopeless() and (users.is_alive() or not self.lanes.over):
            time.sleep(_TICK)
            if time.monotonic() - told > _TELLS_EVERY:
                told = time.monotonic()
                say(self._progress())
        self.lanes.stop()
        self._end(users)

    def _hopeless(self) -> bool:
        """Whether faults or jobs cannot come any more, or nobody sees them."""
        return bool(self.lanes.tally.failures or self.users.refused or self.observer.broken)

    def peace(self) -> None:
        """Nothing strikes any more: every job ends."""
        self.ledger.tell("peace")
        for name in OURS:
            self.scene.set_clock(name, 0)
        self._begin_simulation_anew()
        self.users.serve(0)
        self.comes(lambda: not self.living() or self._hopeless(), _PEACE)

    def comes(self, holds: Callable[[], bool], within: float) -> bool:
        """Whether it holds within so many seconds, while nothing strikes.

        When all is still the simulation may have lost pods. They are shown to it again; where that
        did not help, it is begun anew at the next stillness.
        """
        deadline = time.monotonic() + within
        seen, since = 0, time.monotonic()
        while not holds():
            if time.monotonic() > deadline:
                return False
            self.lanes.revive((*ORDER, *OURS))
            if self.judge.events != seen:
                seen, since = self.judge.events, time.monotonic()
            elif time.monotonic() - since > _STILL:
                self._stir_simulation()
                since = time.monotonic()
            time.sleep(_TICK)
        return True

    def _stir_simulation(self) -> None:
        """Show it each pod that waits for it, by a change: at any change kwok looks at a pod again.

        A start would help those, too, but may lose the same pods once more. So it is the cure only
        for pods that have been shown already, and where none waits.
        """
        self._stills += 1
        waiting = {pod["metadata"]["uid"]: pod for pod in self.stage.all("Pod") if _is_kwoks(pod)}
        if waiting.keys() <= self._shown:
            self._shown = frozenset()
            self._begin_simulation_anew()
            return
        self._shown = frozenset(waiting)
        self.ledger.tell("pods are shown again", count=len(waiting))
        for pod in waiting.values():
            self._show(pod["metadata"]["name"])

    def _show(self, pod: str) -> None:
        body = {"metadata": {"annotations": {_SEEN: str(self._stills)}}}
        with suppress(NotFound, Conflict):  # it has gone, or somebody has just changed it
            self.stage.api.patch(ObjectRef("Pod", self.stage.namespace, pod), body)

    def _begin_simulation_anew(self) -> None:
        """What failed while the API server was away kwok tries again ever later, minutes at last.

        On a busy machine it was seen to miss, for good, what happened while it started: pods ran
        on, and deleted ones stayed.
        """
        self.ledger.tell("simulation begun anew")
        self.scene.sandbox.stop(KWOK)
        self.scene.sandbox.start(KWOK)

    @property
    def leaders(self) -> int:
        lease = self.stage.api.get(
            ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
        )
        return int(lease["spec"].get("leaseTransitions", 0)) + 1

    def living(self) -> int:
        """Training jobs that have come and not ended."""
        jobs = self.observer.jobs()
        return sum(not verdict.is_over(one, jobs) for one in self.came)

    @property
    def came(self) -> list[Commission]:
        """Those that their users have created whole."""
        return [one for one in self.users.commissions if one.jobs[-1] in self.users.created]

    def _end(self, users: Thread) -> None:
        self.users.stop()
        users.join()

    def _progress(self) -> str:
        tally = self.lanes.tally
        return (
            f"{self.ledger.now:5.0f} s  {tally.total} of {self.scale.faults} faults, "
            f"{len(self.came)} of {self.scale.jobs} jobs came, {self.living()} have not "
            f"ended; {len(self.judge.violations)} laws broken"
        )


def torture(
    scene: Scene, scale: Scale, path: Path, say: Callable[[str], None] = lambda _: None
) -> Report:
    """All of it; the ledger is written to `path`. What was broken stands in the report."""
    ledger = Ledger(path)
    say(f"seed {scale.seed}; ledger {path}")
    with stage(scene.sandbox) as made:
        run = Run(scene, made, scale, ledger)
        run.faults(say)
        struck_for = ledger.now
        run.peace()
        ended = ledger.now - struck_for
        ends = list(verdict.of(run))
        broken = [*run.judge.violations, *ends]
        for violation in broken:
            ledger.tell("VERDICT", found=violation)
        run.observer.stop()
        report = _report(run, (struck_for, ended), broken)
    ledger.close()
    return report


def _report(run: Run, seconds: tuple[float, float], broken: list[Violation]) -> Report:
    jobs = run.observer.jobs()
    ends: dict[str, Counter[str]] = {}
    for one in run.users.commissions:
        ends.setdefault(one.kind, Counter())[verdict.end_of(one, jobs, run.users.deleted)] += 1
    return Report(
        seed=run.scale.seed,
        seconds=seconds,
        tally=run.lanes.tally,
        figures=_figures(run, seconds[1]),
        kinds={
            kind: ", ".join(f"{count} {end}" for end, count in sorted(found.items()))
            for kind, found in sorted(ends.items())
        },
        longest=dict(run.judge.longest),
        violations=tuple(map(str, broken)),
    )


def _figures(run: Run, peace: float) -> Mapping[str, str]:
    died = Counter(death.name for death in run.lanes.tally.deaths)
    return {
        "training jobs that came": f"{len(run.came)}",
        "Jobs in them": f"{len(run.users.created)}",
        "wishes of users (scale, pause, delete, …)": f"{run.users.wishes}",
        "times a user had to ask again": f"{run.users.asked_again}",
        "events judged": f"{run.judge.events}",
        "watches of the observer that were lost": f"{run.observer.lists - 2}",
        "requests through the proxies": f"{run.scene.api.requests} and {run.scene.front.requests}",
        "leaders of the reconcilers, one after another": f"{run.leaders}",
        "fullest node ever, of its CPU": f"{run.judge.most_used:.0%}",
        "pods that kube-scheduler bound beyond a node": f"{len(run.judge.overbound)}",
        "ended by themselves, started again": ", ".join(map(str, died.items())) or "nothing",
        "from the last fault until all had ended": f"{peace:.0f} s",
    }


def _is_kwoks(pod: Json) -> bool:
    """Whether the next step is the simulation's: to run it, to let it end, or to stop it."""
    is_bound = "nodeName" in pod["spec"] and pod["status"].get("phase") in ("Pending", "Running")
    return is_bound or "deletionTimestamp" in pod["metadata"]


def _allocatable(made: Stage) -> dict[str, tuple[int, ...]]:
    found = {}
    for raw in made.api.list(ListOptions("Node")).items:
        node = msgspec.json.decode(raw, type=NodeObject)
        room = Resources.parse(node.status.allocatable or {})
        found[node.metadata.name] = tuple(room.get(name) for name in COUNTED)
    return found
