"""Faults one after the other, from a shuffled deck, until each kind has struck often enough."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from threading import Event, Lock, Thread
from typing import Final, Protocol

from sandbox.errors import SandboxError
from tests.torture.faults import CONTROL_PLANE, ENDS, LANES, Fault
from tests.torture.ledger import Ledger
from tests.torture.proofs import Unproven
from tests.torture.scene import Scene

_TICK: Final = 0.2
_AHEAD: Final = 0.1
_TRIES: Final = 40
"""Of one fault, before the run fails: nothing of its kind can be proven here."""


@dataclass(frozen=True, slots=True)
class Death:
    """A process that ended by itself. `report`: the last lines of its log."""

    name: str
    report: str


@dataclass
class Tally:
    """What struck: counts by kind, and the seconds that striking and proving took."""

    struck: Counter[str] = field(default_factory=Counter)
    unproven: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    deaths: list[Death] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    @property
    def total(self) -> int:
        return self.struck.total()


def decks(count: int, dice: Random) -> dict[str, list[str]]:
    """`count` faults over all kinds as evenly as can be, shuffled, by lane."""
    kinds = [kind for lane in LANES.values() for kind in lane]
    shares = {
        kind: count // len(kinds) + (number < count % len(kinds))
        for number, kind in enumerate(kinds)
    }
    found = {}
    for lane, faults in LANES.items():
        deck = [kind for kind in faults for _ in range(shares[kind])]
        dice.shuffle(deck)
        found[lane] = deck
    return found


class Plan(Protocol):
    """How much, from which seed. `rest`: the longest pause after a fault, in seconds."""

    @property
    def faults(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def rest(self) -> float: ...


class Lanes:
    """All lanes at once."""

    def __init__(self, scene: Scene, ledger: Ledger, plan: Plan, hit: Callable[[], None]) -> None:
        """`hit` is called before and after whatever hits the control plane."""
        self.tally = Tally()
        self._hit = hit
        self._scene = scene
        self._ledger = ledger
        self._plan = plan
        self._stopped = Event()
        self._churn: Callable[[], float] = lambda: 1.0
        self._threads: list[Thread] = []

    def start(self, churn: Callable[[], float]) -> None:
        """`churn`: which part of the jobs has come, 0..1. Faults do not run ahead of it."""
        self._churn = churn
        for lane, deck in decks(self._plan.faults, Random(self._plan.seed)).items():  # noqa: S311 - a seed
            dice = Random(f"{self._plan.seed} {lane}")  # noqa: S311 - the same
            arguments = (lane, deck, dice)
            self._threads.append(Thread(target=self._run, args=arguments, name=lane, daemon=True))
        for thread in self._threads:
            thread.start()

    @property
    def progress(self) -> float:
        """0..1."""
        return self.tally.total / self._plan.faults

    @property
    def over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, lane: str, deck: Sequence[str], dice: Random) -> None:
        try:
            for kind in deck:
                if self._stopped.is_set() or self.tally.failures:
                    return
                self._await_churn(lane)
                self.revive(ENDS[lane])
                hits = self._hit if lane == CONTROL_PLANE else _nothing
                hits()
                self._strike(kind, LANES[lane][kind], dice)
                hits()
                self._stopped.wait(dice.uniform(0, self._plan.rest))
        except Exception as error:  # noqa: BLE001 - a thread's end is told by the run
            self.tally.failures.append(f"{type(error).__name__}: {error}")

    def _await_churn(self, lane: str) -> None:
        """No job comes or ends without a component that died by itself: it is started meanwhile."""
        while self.progress > self._churn() + _AHEAD and not self._stopped.is_set():
            self.revive(ENDS[lane])
            self._stopped.wait(_TICK)

    def _strike(self, kind: str, fault: Fault, dice: Random) -> None:
        begun = time.monotonic()
        for _ in range(_TRIES):
            try:
                proof = fault(self._scene, dice)
            except Unproven as error:
                self._note(kind, self.tally.unproven, unproven=error)
                self._stopped.wait(0.2)
            else:
                self._note(kind, self.tally.struck, proof=proof)
                self.tally.seconds[kind] += time.monotonic() - begun
                return
        raise Unproven(f"{kind}: none of {_TRIES} tries could be proven")

    def _note(self, kind: str, counter: Counter[str], **facts: object) -> None:
        with self.tally.lock:
            counter[kind] += 1
        self._ledger.tell("fault", kind=kind, **facts)

    def revive(self, names: Collection[str]) -> None:
        """Start those of them that ended by themselves, as a kubelet would."""
        for name in self._scene.sandbox.dead():
            if name in names:
                death = Death(name, self._scene.sandbox.death_report(name))
                with self.tally.lock:
                    self.tally.deaths.append(death)
                self._ledger.tell("died by itself", name=name, report=death.report)
                try:
                    self._scene.sandbox.start(name)
                except SandboxError as error:
                    self._ledger.tell("cannot start", name=name, error=error)


def _nothing() -> None:
    """Who is hit is not of the control plane."""
