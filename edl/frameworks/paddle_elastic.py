"""Paddle's elastic mode: `paddle.distributed.launch`, configured by its own variables.

Launchers meet at an etcd, which is the role `master`. Each keeps a key with a lease there, and on
every change of the keys all of them stop their scripts and start them again.

Two properties of the launcher (observed in 3.3.1) explain the numbers below. A joining launcher
deletes all keys, and the others write theirs again within five seconds. And a launcher that times
out below its minimum exits with 0, as if the training were done.
"""

from datetime import timedelta
from typing import Final

from edl.frameworks.base import Cooldown, Env, Needs
from edl.spec import addresses
from edl.spec.job_spec import JobSpec

PORT: Final = 2379
COOLDOWN: Final = Cooldown(timedelta(seconds=60), "paddle.distributed.launch")
"""docs/performance.md, "seconds without a step": 11.3 and 18.3 s when trainers come and go."""
_TIMEOUT: Final = "7"
"""Seconds without a change of the keys before a group is formed. Below five, two groups would train
at the same time."""
_PATIENCE: Final = "360"
"""The same for a fixed number of trainers; the launcher multiplies it by ten."""
_RESTARTS: Final = "1000"
"""Each new group costs its launchers one restart."""

_LEAVE: Final = """\
# Leaves the others well: this launcher's key goes first, and all of them end their scripts by
# themselves. Told to end before, it would be missed by the others' scripts, and those would fail.
import os, pathlib, signal, time
import etcd3

def processes():
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command, told = (path.joinpath(name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:
            continue  # it has ended
        pairs = (pair.partition(b"=") for pair in told.split(b"\\0"))
        yield int(path.name), command, {name: value for name, _, value in pairs}

def own_name():
    # Only its scripts are told what a launcher calls itself.
    environments = (told for _, _, told in processes() if b"PADDLE_GLOBAL_RANK" in told)
    return next((told[b"POD_NAME"] for told in environments), b"")

# No launcher may be missed while they form a group: it is formed once the script is the same twice.
name, patience = b"", time.monotonic() + 15
while time.monotonic() < patience:
    before, name = name, own_name()
    if name and name == before:
        break
    time.sleep(1)
host, port = os.environ["PADDLE_MASTER"].rpartition("/")[2].split(":")
etcd = etcd3.client(host, int(port), timeout=3)
for value, key in etcd.get_prefix("/paddle/" + os.environ["PADDLE_JOB_ID"] + "/heartbeat/"):
    if value == name:
        etcd.revoke_lease(key.lease_id)  # without it the key cannot come back
time.sleep(3)  # launchers look every two seconds
for number, command, _ in processes():
    if b"paddle.distributed.launch" in command and number != os.getpid():
        os.kill(number, signal.SIGTERM)
"""


def describe(spec: JobSpec) -> Needs:
    (host,) = addresses.hosts(spec, "master", 1)
    return _master(spec, host) if spec.role == "master" else _trainer(spec, f"{host}:{spec.port}")


def _master(spec: JobSpec, host: str) -> Needs:
    command = (
        *("etcd", "--data-dir", "/tmp/edl-etcd"),  # noqa: S108 - the container's own
        *("--listen-client-urls", f"http://0.0.0.0:{spec.port}"),
        *("--advertise-client-urls", f"http://{host}:{spec.port}"),
    )
    # As PID 1 etcd would exit with 0 on a drained node, and its Job would be complete.
    return Needs(command=command, ports=(("etcd", spec.port),), shares_processes=True)


def _trainer(spec: JobSpec, server: str) -> Needs:
    elastic = spec.scaling.min < spec.scaling.max
    pairs = {
        "PADDLE_MASTER": f"etcd://{server}",
        "PADDLE_JOB_ID": spec.job,
        # A gang starts with its minimum; a launcher that waited for that minimum would exit with 0.
        "PADDLE_NNODES": f"1:{spec.scaling.max}" if elastic else str(spec.scaling.max),
        "PADDLE_NPROC_PER_NODE": str(spec.resources.slots),
        "PADDLE_MAX_RESTART": _RESTARTS,
        "PADDLE_ELASTIC_LEVEL": "1",
        "PADDLE_ELASTIC_TIMEOUT": _TIMEOUT if elastic else _PATIENCE,
        # Releases before 2.3 read these.
        "PADDLE_ELASTIC_SERVER": server,
        "PADDLE_ELASTIC_JOB_ID": spec.job,
        "PADDLE_ELASTIC_NP": f"{spec.scaling.min}:{spec.scaling.max}"
        if elastic
        else str(spec.scaling.max),
    }
    return Needs(
        env=(*(Env(*pair) for pair in pairs.items()), Env("POD_IP", field="status.podIP")),
        leaving=("python3", "-c", _LEAVE),
    )
