"""PyTorch, elastic: torchrun, configured by its own PET_* variables.

torchrun's agents meet at a store. With several roles the store is a role of its own, `rendezvous`,
so that any worker may leave and return. A single Job has the store in worker 0: if that pod is
lost, all workers restart from the checkpoint.
"""

from datetime import timedelta
from typing import Final

from edl.frameworks.base import Cooldown, Env, Framework, Mode, Needs, RoleKind
from edl.model import ResizePolicy
from edl.spec import addresses
from edl.spec.job_spec import JobSpec

_RENDEZVOUS: Final = "rendezvous"
_WORKER: Final = "worker"
_LAST_CALL: Final = "last_call_timeout=2"
"""Seconds that a rendezvous with enough agents waits for more; torchrun's default of 30 would stall
each resize."""
_COOLDOWN: Final = Cooldown(timedelta(seconds=60), "torchrun")
"""docs/performance.md, "seconds without a step": 22.3 and 26.6 s when workers come and go."""
_RESTARTS: Final = "1000"
"""Each worker that leaves costs every other worker one restart."""

_LAUNCHERS: Final = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
"""Not `accelerate launch`, which has defaults of its own instead of most of the variables."""

_STORE: Final = """\
import pickle, signal, sys, time
# Not 0: it is told to leave, and has not succeeded.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
from torch.distributed import TCPStore
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
store = TCPStore("localhost", {port}, None, True, wait_for_workers=False)
backend = C10dRendezvousBackend(store, "{job}")
print("rendezvous of {job} at port {port}", flush=True)
# An agent that fails closes the rendezvous forever, and no returning agent could join again.
while True:
    time.sleep(5)
    bits, token, *_ = backend.get_state() or (None, None)
    state = bits and pickle.loads(bits)
    if state and state.closed:
        fresh = type(state)()
        fresh.round = state.round + 1  # each round has keys of its own in the store
        backend.set_state(pickle.dumps(fresh), token)
        print("rendezvous of {job} was closed, and is open again", flush=True)
"""


def _store(spec: JobSpec) -> Needs:
    return Needs(
        command=("python3", "-c", _STORE.format(port=spec.port, job=spec.job)),
        ports=((_RENDEZVOUS, spec.port),),
    )


def _worker(spec: JobSpec) -> Needs:
    host, conf = _meeting(spec)
    pairs = {
        "PET_NNODES": f"{spec.scaling.min}:{spec.scaling.max}",
        "PET_NPROC_PER_NODE": str(spec.resources.slots),
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": f"{host}:{spec.port}",
        "PET_RDZV_ID": spec.job,
        "PET_RDZV_CONF": conf,
        "PET_MAX_RESTARTS": _RESTARTS,
        "PET_MONITOR_INTERVAL": "1",
    }
    # torchrun's agents end together, so the first success is that of all. One that joins later or
    # returns finds the rendezvous closed and fails: that must not fail a finished Job. Workers of
    # other programs end one after the other: at a fixed size, where none joins late, each counts.
    return Needs(env=tuple(Env(*pair) for pair in pairs.items()), any_decides=True)


def _meeting(spec: JobSpec) -> tuple[str, str]:
    """The store's host, and the value of PET_RDZV_CONF."""
    if _RENDEZVOUS in spec.role_names:
        (host,) = addresses.hosts(spec, _RENDEZVOUS, 1)
        return host, f"{_LAST_CALL},is_host=0"
    if spec.rank is not None:
        (host,) = addresses.hosts(spec, spec.role, 1)
        return host, f"{_LAST_CALL},is_host={int(spec.rank == 0)}"
    # An agent becomes the host if the endpoint equals its own bare host name. Older releases of
    # torchrun compare nothing else that is known here, and newer ones would have to wait for DNS.
    return addresses.hostname(addresses.job_name(spec, spec.role), 0), _LAST_CALL


def describe(spec: JobSpec) -> Needs:
    return _store(spec) if spec.role == _RENDEZVOUS else _worker(spec)


FRAMEWORK: Final = Framework(
    name="pytorch",
    roles=(RoleKind(_RENDEZVOUS, serves=True, single=True), RoleKind(_WORKER, resizable=True)),
    worker=_WORKER,
    completion_roles=(_WORKER,),
    modes=(Mode("elastic", ResizePolicy.LIVE, describe, cooldown=_COOLDOWN),),
    port=29400,
    min_peers_env="PET_NNODES",
    rendezvous_mode="elastic",
    host_role=_WORKER,
    launchers=_LAUNCHERS,
)
