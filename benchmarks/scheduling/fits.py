"""Gangs that fill a cluster, on a real kube-scheduler: all run, whole and soon.

`python -m benchmarks.scheduling.fits [--clusters 40] [--first 0] [--record FILE] [--traces FILE]`

The clusters of `benchmarks.scheduling.exact_fits`, one after another on one control plane of the
sandbox, with webhook and reconciler as users install them. With `--record` each cluster's figures
are added to a file, and the table is that of the file: a run may be made in parts.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.follow import Followers, Observed, observed
from benchmarks.report import circumstances
from benchmarks.report.processor import processor
from benchmarks.scheduling.clean_up import clear, until
from benchmarks.scheduling.exact_fits import (
    CLUSTERS,
    POOL,
    TAINT,
    DrawnCluster,
    DrawnGang,
    Pool,
    TenantPod,
    drawn,
    fits,
    jobs,
    pod_spec,
)
from benchmarks.scheduling.fit_records import SOON, ClusterRecord, add, line, read, table
from benchmarks.scheduling.watch import Gang, Stalls, Watch
from dev.installation import install
from edl import contract
from edl.annotations import assigned_nodes
from edl.kube.api.client import ApiClient, connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from sandbox import NodeGroup, Sandbox, temporary_sandbox

NAMESPACE: Final = "default"
QUIET: Final = 10.0
"""The seconds without an event of any gang after which gangs that still wait are evaluated."""
LONGEST: Final = 60.0
"""The seconds after the last arrival; a start without success counts as this late."""
THREADS: Final = 4
_INDEX: Final = "batch.kubernetes.io/job-completion-index"


class RivalPods:
    """Creates tenants' pods that request a node as soon as a gang is given it."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._cluster: DrawnCluster | None = None
        self._left: list[TenantPod] = []
        self.last = 0.0
        """When the last of these pods was created, in monotonic seconds."""

    def start(self, cluster: DrawnCluster) -> None:
        self._left = [pod for pod in cluster.tenants if pod.rival]
        self._cluster = cluster

    def stop(self) -> list[TenantPod]:
        """End; returns the pods that found no gang."""
        self._cluster = None
        return self._left

    def see_job(self, job: Observed, deleted: bool) -> None:  # noqa: FBT001 - as it is called
        cluster, annotations = self._cluster, job.metadata.annotations
        nodes = assigned_nodes.read(annotations.get(contract.ASSIGNED_NODES, "")).nodes
        if cluster is None or deleted or job.spec.suspend or not nodes:
            return
        found = (
            role.pool
            for gang in cluster.gangs
            for role in gang.roles
            if gang.job(role) == job.metadata.name
        )
        pool = next(found, "")
        rival = next((pod for pod in self._left if pod.pool == pool), None)
        if rival is not None:
            self._left.remove(rival)
            _create_pod(self._api, cluster, rival, nodes[0])
            self.last = time.monotonic()


def _create_pod(api: ApiClient, cluster: DrawnCluster, pod: TenantPod, node: str = "") -> None:
    spec = pod_spec(cluster.pool(pod.pool), pod.units, node)
    target = ObjectRef("Pod", NAMESPACE, pod.name)
    api.create(target, {"metadata": {"name": pod.name}, "spec": spec})


# -- one cluster -------------------------------------------------------------------------------


class Run:
    """A control plane, and the watches on it."""

    def __init__(self, sandbox: Sandbox) -> None:
        kubeconfig = str(sandbox.kubeconfig)
        self.sandbox, self.api = sandbox, connect(kubeconfig)
        self.watch, self.rivals = Watch(), RivalPods(connect(kubeconfig))
        jobs, pods = ListOptions("Job", NAMESPACE), ListOptions("Pod", NAMESPACE)
        seen = ((jobs, self.watch.see_job), (pods, self.watch.see_pod), (jobs, self.rivals.see_job))
        self.followers = Followers(kubeconfig, *seen)
        self.stalls, self.commit = Stalls(), circumstances.commit()

    def played(self, seed: int) -> tuple[ClusterRecord, list[Gang]]:
        """Create a cluster, play and evaluate it, and remove it again."""
        cluster = drawn(seed)
        nodes = list(_nodes(self.sandbox, self.api, cluster, seed))
        gangs = [Gang(one.name, {one.job(r): r.least for r in one.roles}) for one in cluster.gangs]
        for gang in gangs:
            self.watch.follow(gang)
        self.stalls.longest()
        load, spent = circumstances.load(), processor(self.sandbox)["reconciler"]
        try:
            self.rivals.start(cluster)
            last = max(_arrive(self.api, cluster), self.rivals.last)
            until(partial(_is_settled, gangs, last), LONGEST)
            spared = self.rivals.stop()
            idle = _idle(self.api, cluster, dict(nodes))
            self.followers.check()
        finally:
            self.watch.forget()
            clear(self.api, NAMESPACE, [name for name, _ in nodes])
        last = max(last, self.rivals.last)
        found = ClusterRecord(
            seed=seed,
            commit=self.commit,
            date=circumstances.now(),
            loads=(load, circumstances.load()),
            stalled=self.stalls.longest(),
            gangs=len(gangs),
            ran=sum(map(_runs, gangs)),
            waited=tuple(_waited(cluster, gangs, idle)),
            after=max(_after(gang, last) for gang in gangs),
            starts=tuple(s.ran - s.admitted for g in gangs for s in g.starts if s.ran),
            halves=tuple(seconds for gang in gangs for seconds in gang.halves),
            stolen=sum(pod.rival for pod in cluster.tenants) - len(spared),
            tenants=len(cluster.tenants) - len(spared),
            reconciler=processor(self.sandbox)["reconciler"] - spent,
        )
        return found, gangs


def _nodes(
    sandbox: Sandbox, api: ApiClient, cluster: DrawnCluster, seed: int
) -> Iterator[tuple[str, tuple[str, int]]]:
    """The name of each node, with its pool and its units."""
    for pool in cluster.pools:
        for units in sorted(set(pool.nodes)):
            group = _group(pool, units, f"c{seed:02}-{pool.name}-{units:02}")
            for name in sandbox.add_nodes(group):
                if pool.tainted:
                    taint = {"key": TAINT, "value": pool.name, "effect": "NoSchedule"}
                    api.patch(ObjectRef("Node", "", name), {"spec": {"taints": [taint]}})
                yield name, (pool.name, units)


def _group(pool: Pool, units: int, prefix: str) -> NodeGroup:
    labels, count = {POOL: pool.name}, pool.nodes.count(units)
    if pool.has_gpus:
        return NodeGroup(count, str(4 * units), f"{16 * units}Gi", units, labels, prefix)
    return NodeGroup(count, str(units), f"{4 * units}Gi", 0, labels, prefix)


def _arrive(api: ApiClient, cluster: DrawnCluster) -> float:
    """Create all gangs and tenants' pods in time; returns when the last one existed."""
    begun, done = time.monotonic(), []
    with ThreadPoolExecutor(THREADS) as pool:
        for at, create in sorted(_arrivals(api, cluster), key=itemgetter(0)):
            time.sleep(max(begun + at - time.monotonic(), 0))
            done.append(pool.submit(create))
    for one in done:
        one.result()
    return time.monotonic()


def _arrivals(api: ApiClient, cluster: DrawnCluster) -> Iterator[tuple[float, Callable[[], None]]]:
    """(seconds, action) for each gang and pod to create."""
    for gang in cluster.gangs:
        yield gang.at, partial(_create, api, cluster, gang)
    for pod in cluster.tenants:
        if not pod.rival:
            yield pod.at, partial(_create_pod, api, cluster, pod)


def _create(api: ApiClient, cluster: DrawnCluster, gang: DrawnGang) -> None:
    for job in jobs(cluster, gang):
        api.create(ObjectRef("Job", NAMESPACE, job["metadata"]["name"]), job)


def _runs(gang: Gang) -> bool:
    return bool(gang.starts) and gang.starts[-1].ran is not None and not gang.starts[-1].stopped


def _is_settled(gangs: Sequence[Gang], last: float) -> bool:
    """Whether all gangs run, or those that do not have had no event for `QUIET` seconds."""
    if all(map(_runs, gangs)):
        return True
    begun = any(gang.starts and not gang.starts[-1].stopped and not _runs(gang) for gang in gangs)
    moved = max((gang.trace[-1][0] for gang in gangs if gang.trace), default=last)
    return not begun and time.monotonic() - max(moved, last) > QUIET


def _after(gang: Gang, last: float) -> float:
    """The seconds from the last arrival until it ran; `LONGEST` if it started and does not run."""
    start = gang.starts[-1] if gang.starts else None
    if start is None or start.stopped:
        return 0.0
    return LONGEST if start.ran is None else start.ran - last


def _idle(
    api: ApiClient, cluster: DrawnCluster, nodes: Mapping[str, tuple[str, int]]
) -> dict[str, dict[str, int]]:
    """The units of each node, by pool, that neither minimums nor tenants' pods hold."""
    idle: dict[str, dict[str, int]] = {pool.name: {} for pool in cluster.pools}
    for name, (pool_name, units) in nodes.items():
        idle[pool_name][name] = units
    roles = {gang.job(role): role for gang in cluster.gangs for role in gang.roles}
    units_of = {pod.name: pod.units for pod in cluster.tenants}
    for pod in observed(api.list(ListOptions("Pod", NAMESPACE)).items):
        node = pod.spec.nodeName
        if node and pod.status.phase not in ("Succeeded", "Failed"):
            role = roles.get(next((one.name for one in pod.metadata.ownerReferences), ""))
            index = int(pod.metadata.annotations.get(_INDEX, 0))
            if role is None or index < role.least:
                units = role.units if role else units_of[pod.metadata.name]
                idle[nodes[node][0]][node] -= units
    return idle


def _waited(
    cluster: DrawnCluster, gangs: Sequence[Gang], idle: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Gangs that do not run although all their pods would fit, with their messages."""
    for one, gang in zip(cluster.gangs, gangs, strict=True):
        pods = {
            pool.name: [units for at, units in one.pods if at == pool.name]
            for pool in cluster.pools
        }
        if not _runs(gang) and all(fits(found, idle[at].values()) for at, found in pods.items()):
            said = [text for _, text in gang.trace if text.startswith("Job ")]
            yield f"{gang.name}: {said[-1] if said else 'never seen'}"


# -- all of them -------------------------------------------------------------------------------


def traces(gangs: Sequence[Gang], record: ClusterRecord) -> Iterator[str]:
    """Everything that was observed of each gang that started late, was half placed or waited."""
    waited = {text.partition(":")[0] for text in record.waited}
    for gang in gangs:
        late = any((one.ran or one.stopped or LONGEST) - one.admitted > SOON for one in gang.starts)
        if late or gang.name in waited or max(gang.halves, default=0.0) > SOON or not _runs(gang):
            yield f"cluster {record.seed}, {gang.name}: {dict(gang.minimum)}; half {gang.halves}"
            yield from (f"  {at:10.2f} {text}" for at, text in gang.trace)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=CLUSTERS)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first of them")
    parser.add_argument("--record", type=Path, help="where figures are added, and read again")
    parser.add_argument("--traces", type=Path, help="what was seen of gangs that were late")
    asked = parser.parse_args()
    found = read(asked.record)
    if asked.clusters:
        with temporary_sandbox("fits") as sandbox:
            install(sandbox, sandbox.folder / "edl")
            allowed = {"metadata": {"labels": {contract.KUBEXEC: contract.ENABLED}}}
            connect(str(sandbox.kubeconfig)).patch(ObjectRef("Namespace", "", NAMESPACE), allowed)
            run = Run(sandbox)
            with run.followers:
                found += _measured(run, asked)
    print(*table(found), sep="\n")


def _measured(run: Run, asked: argparse.Namespace) -> Iterator[ClusterRecord]:
    for seed in range(asked.first, asked.first + asked.clusters):
        record, gangs = run.played(seed)
        print(line(f"cluster {seed}", [record]), file=sys.stderr, flush=True)
        add(asked.record, [msgspec.json.encode(record).decode()])
        add(asked.traces, traces(gangs, record))
        yield record


if __name__ == "__main__":
    main()
