"""Each kind of fault: it strikes, and says what proves it. Raises Unproven where nothing does."""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as Late
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from random import Random
from typing import Final, TypeAlias

from edl import contract
from edl.errors import ClusterError, Conflict
from edl.kube.api.client import connect
from edl.model import ObjectRef
from sandbox.layout import read_facts
from sandbox.processes.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
    ORDER,
    SCHEDULER,
)
from tests.integration.support.stage import elastic
from tests.torture.proofs import (
    Unproven,
    answers,
    clock_of,
    is_stopped,
    listens,
    shakes_hands,
    until,
)
from tests.torture.proxy import Armed, Blow
from tests.torture.proxy_faults import Delay, Refusal, Silence
from tests.torture.scene import LEASE, OURS, RECONCILERS, WEBHOOKS, Scene
from tests.torture.wire import Request, Vanished

Fault: TypeAlias = Callable[[Scene, Random], str]

_SOON: Final = 20.0
"""Seconds in which what must follow a fault has followed."""
_WAITS_FOR_PREY: Final = 5.0
"""Seconds for which an armed blow waits for a request."""
_SEEN_WITHIN: Final = 120.0
"""Seconds in which a blow is over that has been taken."""
_SKEWS: Final = (-2700, -600, -60, -5, 5, 60, 600, 2700, 86400)
"""Seconds. Not further back: a certificate of the cluster is younger than that."""
_EXACT: Final = 2.5
"""Seconds by which a date in whole seconds may be off, and how long asking takes."""
_HOLDS: Final = (0.5, 0.5, 1.5, 1.5, 3.0, 3.0, 6.0, 31.0)
"""Seconds without an answer; longer than the last of them nobody waits (edl.kube.client)."""
_TIMEOUT: Final = 5.0
"""Seconds for which the API server waits for a webhook (manifests)."""


# -- processes ----------------------------------------------------------------------------------


def killed(name: str, scene: Scene, _dice: Random) -> str:
    """SIGKILL, and started again as a kubelet would."""
    before = scene.sandbox.running().get(name)
    if before is None:
        scene.sandbox.start(name)
        raise Unproven(f"{name} did not run")
    scene.sandbox.kill(name)
    if name in scene.sandbox.running():
        raise Unproven(f"{name} still runs")
    after = scene.sandbox.start(name)
    return _other(name, before, after)


def killed_behind_port(name: str, scene: Scene, _dice: Random) -> str:
    """The same for a server that everybody needs: while it is dead nobody listens there."""
    before = scene.sandbox.running()[name]
    scene.sandbox.kill(name)
    if listens(port := _port_of(scene, name)):
        raise Unproven(f"somebody listens on {port}")
    return f"refused connections; {_other(name, before, scene.sandbox.start(name))}"


def etcd_paused(scene: Scene, dice: Random) -> str:
    port, seconds = _port_of(scene, ETCD), dice.choice((0.5, 1, 2, 3, 5))
    scene.sandbox.kill(ETCD, signal.SIGSTOP)
    try:
        until(partial(is_stopped, scene.sandbox.running()[ETCD]), _SOON, "etcd is stopped")
        silent = not shakes_hands(port)
        time.sleep(seconds)
    finally:
        scene.sandbox.kill(ETCD, signal.SIGCONT)
    if not silent:
        raise Unproven("etcd answered while it was stopped")
    until(lambda: shakes_hands(port), _SOON, "etcd answers again")
    return f"stopped, open port, no answer for {seconds:g} s; answers again"


def one_killed(names: tuple[str, ...], scene: Scene, dice: Random) -> str:
    return killed(dice.choice(names), scene, dice)


def reconciler_paused(scene: Scene, dice: Random) -> str:
    """For longer than its lease, mostly: it wakes up as an old leader in the middle of a round."""
    name, seconds = _leader(scene), dice.uniform(0.5, 2 * LEASE)
    until(lambda: answers(scene, name), _SOON, f"{name} answers")
    scene.sandbox.kill(name, signal.SIGSTOP)
    try:
        until(partial(is_stopped, scene.sandbox.running()[name]), _SOON, f"{name} is stopped")
        silent = not answers(scene, name)
        time.sleep(seconds)
    finally:
        scene.sandbox.kill(name, signal.SIGCONT)
    if not silent:
        raise Unproven(f"{name} answered while it was stopped")
    return f"leader {name} stopped for {seconds:.1f} s without an answer; {_leader(scene)} leads"


def clock_jumped(scene: Scene, dice: Random) -> str:
    """Whatever it was before: another process's clock, or the same one's, is suddenly elsewhere."""
    name, skew = dice.choice(OURS), float(dice.choice(_SKEWS))
    until(lambda: answers(scene, name), _SOON, f"{name} answers")
    before = clock_of(scene, name)
    if before is None or abs(before - skew) < _EXACT:
        raise Unproven(f"{name} is there already")
    scene.set_clock(name, skew)
    until(lambda: _is_near(clock_of(scene, name), skew), _SOON, f"{name} is {skew:+g} s off")
    return f"{name} dated its answers {before:+.0f} s off, and now {skew:+.0f} s"


# -- requests -----------------------------------------------------------------------------------


def refused(
    status: HTTPStatus, prey: Sequence[Callable[[Request], bool]], scene: Scene, dice: Random
) -> str:
    after = dice.choice((1, 1, 2)) if status is HTTPStatus.TOO_MANY_REQUESTS else None
    return _struck(scene, Refusal(status, after), dice.choice(prey))


def timed_out(scene: Scene, dice: Random) -> str:
    """Nothing was done; or it was, and nobody heard of it; or it is, when nobody asks any more."""
    asks = dice.choice(("never", "first", "late"))
    hold = dice.choice(_HOLDS)
    return _struck(scene, Silence(hold, asks), dice.choice(_PREY))


def watch_cut(scene: Scene, dice: Random) -> str:
    """Broken in the middle; the one who watched comes again."""
    watches = scene.api.watches(lived=0.5)
    if not watches:
        time.sleep(0.5)
        raise Unproven("nobody watches")
    chosen = dice.choice(watches)
    path = chosen.request.path
    earlier = scene.api.begun[path]
    scene.api.cut(chosen)
    until(lambda: chosen.client.gone, _SOON, f"the watch of {path} is broken")
    until(lambda: scene.api.begun[path] > earlier, _SOON, f"{path} is watched again")
    return f"{chosen.request}: broken, and begun again"


def anything(request: Request) -> bool:
    return not request.path.endswith("/events")


def _writes(plural: str) -> Callable[[Request], bool]:
    return lambda request: request.method in ("POST", "PATCH") and f"/{plural}" in request.path


_WRITES: Final = (_writes("jobs"), _writes("jobs"), _writes("leases"), _writes("pods"))
_PREY: Final = (*_WRITES, _writes("services"), anything)


def _struck(scene: Scene, blow: Blow, meant_for: Callable[[Request], bool]) -> str:
    armed = Armed(blow, meant_for)
    scene.api.arm(armed)
    with suppress(Late, Vanished):
        return armed.struck.result(_WAITS_FOR_PREY)
    if scene.api.disarm(armed):
        raise Unproven("no such request came")
    return _seen(armed)


def _seen(armed: Armed) -> str:
    """What the client saw of a blow that has been taken by a request."""
    try:
        return armed.struck.result(_SEEN_WITHIN)
    except (Late, Vanished) as error:
        raise Unproven(str(error)) from None


def webhook_slow(scene: Scene, dice: Random) -> str:
    """Within what the API server waits for, or longer: then it refuses what the user asked."""
    seconds = dice.choice((0.3, 1.0, 2.0, 3.5, _TIMEOUT + 1))
    api = connect(str(scene.sandbox.kubeconfig)).within(_TIMEOUT * 3)
    armed = [Armed(Delay(seconds), anything) for _ in range(2)]  # two webhooks are asked in turn
    for one in armed:
        scene.front.arm(one)
    begun = time.monotonic()
    outcome = "it was admitted"
    try:
        api.create(ObjectRef("Job", "default", "probe"), _PROBE, dry_run=True)
    except Conflict:
        raise Unproven("the probe exists") from None
    except ClusterError as error:
        outcome = f"refused: {error}"
    took = time.monotonic() - begun
    held = [one for one in armed if not scene.front.disarm(one)]
    saw = [_seen(one) for one in held]
    if not saw or took < min(seconds, _TIMEOUT):
        raise Unproven(f"a request took {took:.2f} s: {outcome}")
    return f"its request took {took:.2f} s: {outcome}; {', '.join(saw)}"


_PROBE: Final = elastic("probe")


# -- what they need -------------------------------------------------------------------------------


def _other(name: str, before: int, after: int) -> str:
    if before == after:
        raise Unproven(f"{name} is still process {before}")
    return f"{name}: process {before} is gone, {after} runs"


def _is_near(found: float | None, wanted: float) -> bool:
    return found is not None and abs(found - wanted) < _EXACT


def _leader(scene: Scene) -> str:
    """Who holds the Lease; anybody, while the API server cannot say."""
    api = connect(str(scene.sandbox.kubeconfig)).within(2)
    with suppress(ClusterError):
        lease = api.get(ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE))
        # By its `--identity`, which the suffix of the process follows.
        holder = str(lease["spec"].get("holderIdentity")).partition("_")[0]
        if holder in RECONCILERS:
            return holder
    return RECONCILERS[0]


def _port_of(scene: Scene, name: str) -> int:
    facts = read_facts(scene.sandbox.folder / "sandbox.json")
    if facts is None:
        raise Unproven("the sandbox is gone")
    return facts.etcd_port if name == ETCD else facts.api_port


CONTROL_PLANE: Final = "control plane"
LANES: Final[Mapping[str, Mapping[str, Fault]]] = {
    CONTROL_PLANE: {
        "kube-apiserver killed": partial(killed_behind_port, API_SERVER),
        "etcd killed": partial(killed_behind_port, ETCD),
        "etcd paused": etcd_paused,
        "kube-controller-manager killed": partial(killed, CONTROLLER_MANAGER),
        "kube-scheduler killed": partial(killed, SCHEDULER),
        "kwok killed": partial(killed, KWOK),
    },
    "ours": {
        "webhook killed": partial(one_killed, WEBHOOKS),
        "reconciler killed": partial(one_killed, RECONCILERS),
        "reconciler paused": reconciler_paused,
        "clock jumped": clock_jumped,
        "webhook slow": webhook_slow,
    },
    "answers": {
        "409 conflict": partial(refused, HTTPStatus.CONFLICT, _WRITES),
        "429 too many requests": partial(refused, HTTPStatus.TOO_MANY_REQUESTS, _PREY),
        "500 internal error": partial(refused, HTTPStatus.INTERNAL_SERVER_ERROR, _PREY),
    },
    "silence": {
        "timeout": timed_out,
        "watch cut": watch_cut,
    },
}
"""Kinds of faults by lane. Those of a lane strike one after the other, the lanes at once."""

ENDS: Final[Mapping[str, Sequence[str]]] = {
    CONTROL_PLANE: ORDER,
    "ours": OURS,
    "answers": (),
    "silence": (),
}
"""The processes that each lane ends and starts again; nobody else touches them meanwhile."""
