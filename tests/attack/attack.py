"""One seed: a churn, then calm, then the end, with an observer that only watches."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final

from tests.attack.api import KINDS, Api, Json
from tests.attack.churn import Churn
from tests.attack.promises import Judge, Violation

LONG: Final = 300.0
"""Seconds from which on there is time for the cluster to come to rest, and to judge that."""
_TWINS: Final = 3.0
_GONE_WITHIN: Final = 90.0


@dataclass(slots=True)
class Observer:
    """Tells a judge of every change, from threads of its own."""

    api: Api
    judge: Judge = field(default_factory=Judge)
    broken: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watching(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._follow, args=(kind,)) for kind in KINDS]
        threads.append(threading.Thread(target=self._look))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def ask(self, question: Callable[[Judge], None]) -> None:
        with self._lock:
            question(self.judge)

    def _follow(self, kind: str) -> None:
        def told(event: str, found: Json) -> None:
            with self._lock:
                self.judge.see(kind, event, found, time.monotonic())

        try:
            self.api.follow(kind, told, self._stopped)
        except Exception as error:  # noqa: BLE001 - a thread's end is told by the run
            self.broken.append(f"{kind}: {type(error).__name__}: {error}")

    def _look(self) -> None:
        while not self._stopped.wait(0.5):
            self.ask(lambda judge: judge.look(time.monotonic()))


def attack(api: Api, seed: int, seconds: float) -> tuple[list[Violation], Judge]:
    """What was broken while a seed's churn and its calm lasted this long together."""
    churn = Churn(api, Random(seed))  # noqa: S311 - a seed, not a secret
    observer = Observer(api)
    with observer.watching():
        _churn(churn, seconds * 0.6)
        churn.calm()
        time.sleep(seconds * 0.2)
        _judge_calm(observer, churn, seconds)
        churn.end()
        _judge_end(observer)
    blind = [Violation("all is seen", "observer", text) for text in observer.broken]
    return [*observer.judge.violations, *blind], observer.judge


def _churn(churn: Churn, seconds: float) -> None:
    churn.begin()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        churn.deed()
        time.sleep(churn.dice.uniform(0.2, 2.0))


def _judge_calm(observer: Observer, churn: Churn, seconds: float) -> None:
    since = time.monotonic()
    changed = churn.apply_again()
    observer.ask(lambda judge: judge.unchanged(changed))
    time.sleep(seconds * 0.2)
    for twins in churn.twins:
        if not {*twins} & churn.deleted:
            observer.ask(partial(Judge.twins, first=twins[0], second=twins[1], slack=_TWINS))
    if seconds >= LONG:
        observer.ask(lambda judge: judge.calm(since))
        observer.ask(lambda judge: judge.fair(2))


def _judge_end(observer: Observer) -> None:
    until = time.monotonic() + _GONE_WITHIN
    while observer.judge.orphans() and time.monotonic() < until:
        time.sleep(0.5)
    observer.ask(lambda judge: judge.nothing_left())
