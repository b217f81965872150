"""Carries out what users wish, around every proxy, and insists while the cluster is in trouble."""

import heapq
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from random import Random
from threading import Event, Thread
from typing import Final

from edl import contract
from edl.errors import ClusterError, Conflict, NotFound, Unreachable
from edl.model import ObjectRef
from sandbox.errors import SandboxError
from tests.integration.support.stage import Stage, web
from tests.torture.churn import Commission, Wish
from tests.torture.ledger import Ledger

INSISTS: Final = 180.0
"""Seconds for which a user asks again; a cluster that is away for longer has lost his job."""
_AGAIN: Final = 0.4
_TICK: Final = 0.1
_MAX_AT_ONCE: Final = 24
_SERVICE_EVERY: Final = 9.0
_SERVICE_MOST: Final = 16
_READY: Final = 0.97
"""The last job comes when so much of the faults has struck."""


class Users:
    """Creates the commissioned jobs while the faults go on, and does to each what its user wishes.

    `progress` says which part of the faults is over, `living` how many jobs have not ended.
    """

    def __init__(
        self,
        stage: Stage,
        ledger: Ledger,
        commissions: Sequence[Commission],
        dice: Random,
    ) -> None:
        self.commissions = commissions
        self.created: set[str] = set()
        self.deleted: set[str] = set()
        """Names of Jobs."""
        self.refused: list[str] = []
        self.asked_again = 0
        self.wishes = 0
        self._stage = stage
        self._api = stage.api
        self._ledger = ledger
        self._dice = dice
        self._due: list[tuple[float, int, Commission, Wish]] = []
        self._numbers = count()
        self._serving_from = 0.0
        self._stopped = Event()

    def start(self, progress: Callable[[], float], living: Callable[[], int]) -> Thread:
        thread = Thread(target=self._live, args=(progress, living), name="users", daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """No further job, and no further wish but those that let jobs go on."""
        self._stopped.set()

    def _live(self, progress: Callable[[], float], living: Callable[[], int]) -> None:
        try:
            self._run(progress, living)
        except Exception as error:  # noqa: BLE001 - a thread's end is told by the run
            self.refused.append(f"users end: {type(error).__name__}: {error}")

    def _run(self, progress: Callable[[], float], living: Callable[[], int]) -> None:
        waiting = list(reversed(self.commissions))
        while not self._stopped.is_set() and (waiting or self._due):
            share = 1 - len(waiting) / len(self.commissions)
            if waiting and share <= progress() / _READY and living() < _MAX_AT_ONCE:
                self._create(waiting.pop())
            self._grant()
            self._serve()
            self._stopped.wait(_TICK)

    def _create(self, commission: Commission) -> None:
        for manifest in commission.manifests:
            name = manifest["metadata"]["name"]
            create = partial(self._api.create, self._job(name), manifest)
            self._insist(f"create {name}", create)
            self.created.add(name)
        self._ledger.tell("user creates", job=commission.name, kind=commission.kind)
        for wish in commission.wishes:
            due = time.monotonic() + wish.after
            heapq.heappush(self._due, (due, next(self._numbers), commission, wish))

    def _grant(self) -> None:
        while self._due and self._due[0][0] < time.monotonic():
            _, _, commission, wish = heapq.heappop(self._due)
            self._ledger.tell("user wishes", job=commission.name, verb=wish.verb, size=wish.size)
            self.wishes += 1
            _VERBS[wish.verb](self, commission, wish)

    def scale(self, commission: Commission, wish: Wish) -> None:
        size = None if wish.size is None else str(wish.size)
        self._annotate([commission.elastic], contract.REPLICAS, size)

    def pause(self, commission: Commission, wish: Wish) -> None:
        self._annotate(commission.jobs, contract.PAUSED, "true" if wish.verb == "pause" else None)

    def delete(self, commission: Commission, _wish: Wish) -> None:
        self.deleted.update(commission.jobs)
        for name in commission.jobs:
            self._insist(f"delete {name}", partial(self._api.delete, self._job(name)))

    def _annotate(self, jobs: Sequence[str], key: str, text: str | None) -> None:
        body = {"metadata": {"annotations": {key: text}}}
        for name in jobs:
            self._insist(f"annotate {name}", partial(self._api.patch, self._job(name), body))

    def _serve(self) -> None:
        if time.monotonic() > self._serving_from:
            self._serving_from = time.monotonic() + self._dice.uniform(1, _SERVICE_EVERY)
            self.serve(self._dice.choice((0, self._dice.randint(0, _SERVICE_MOST))))

    def serve(self, replicas: int) -> None:
        """A service of somebody else comes, goes, or changes its size."""
        self._ledger.tell("service", replicas=replicas)
        try:
            self._stage.apply(web(replicas))
        except SandboxError as error:  # the API server is away: the next one comes soon
            self._ledger.tell("service is not changed", error=error)

    def _insist(self, what: str, do: Callable[[], object]) -> None:
        """Until it is done. Who is away, or refuses in passing, is asked again."""
        until = time.monotonic() + INSISTS
        while True:
            try:
                do()
            except (Conflict, NotFound):
                return  # the answer to an earlier try was lost; or the job has gone
            except Unreachable as error:
                self.asked_again += 1
                self._ledger.tell("user asks again", wish=what, error=error)
                if time.monotonic() > until:
                    self.refused.append(f"{what}: {error}")
                    return
                time.sleep(_AGAIN)
            except ClusterError as error:
                self.refused.append(f"{what}: {error}")
                return
            else:
                return

    def _job(self, name: str) -> ObjectRef:
        return ObjectRef("Job", self._stage.namespace, name)


_VERBS: Final[dict[str, Callable[[Users, Commission, Wish], None]]] = {
    "scale": Users.scale,
    "auto": Users.scale,
    "pause": Users.pause,
    "resume": Users.pause,
    "delete": Users.delete,
}
