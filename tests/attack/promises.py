"""What kubectl-edl promises, judged on watch events alone: pure, nothing of the product is used.

Times are seconds that only rise. A state that must not last has a patience: several objects cannot
change at once, and controllers take their time.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple

Json = dict[str, Any]
PREFIX: Final = "edl.dev/"
PATIENCE: Final = 40.0
"""Several Jobs cannot change at once, and a leader that is killed has a successor."""
FLAP: Final = 25.0
"""A host that leaves the list and comes back in less while its pod stayed was taken off in vain."""
BEHIND: Final = 15.0
"""Each kind is watched by itself: a Job's own end may be told so long after its pods'."""
PROTECTED: Final = frozenset({"chief", "ps", "launcher", "master", "pserver", "scheduler"})
_AROUND: Final = ("Service", "PodDisruptionBudget", "RoleBinding", "ServiceAccount", "Secret")
_ENDED: Final = ("Succeeded", "Failed")
_BOUNDS: Final = re.compile(r"([a-z]+)=(\d+)(?:\.\.(\d+))?")


class Violation(NamedTuple):
    """A promise that was broken."""

    promise: str
    subject: str
    what: str


class Resize(NamedTuple):
    """A new `spec.parallelism` of a running Job."""

    at: float
    job: str
    before: int
    after: int
    why: str
    """The message of its Job at that time."""


@dataclass(slots=True)
class Judge:
    """Everything that was seen, and what was wrong with it."""

    objects: dict[tuple[str, str], Json] = field(default_factory=dict)
    """By kind and uid; those that are there."""
    violations: list[Violation] = field(default_factory=list)
    resizes: list[Resize] = field(default_factory=list)
    started: dict[tuple[str, str], float] = field(default_factory=dict)
    """When each training job, by namespace and name, was first seen with all its Jobs started."""
    judged: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How often each promise was looked at."""
    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    _left_list: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    """By launcher and host: when the host was taken off, and the uid of its pod then."""
    _lost: dict[str, tuple[float, str, Violation]] = field(default_factory=dict)
    """Protected pods that leave, by uid: since when, the uid of their Job, and what to say."""
    _used: dict[str, dict[str, Decimal]] = field(default_factory=lambda: defaultdict(dict))
    """CPU by node and by the uid of the pod that holds it."""
    _rooms: dict[str, Decimal] = field(default_factory=dict)
    """Allocatable CPU by node."""

    def see(self, kind: str, event: str, found: Json, now: float) -> None:
        key = (kind, found["metadata"]["uid"])
        before = self.objects.pop(key, None)
        if event != "DELETED":
            self.objects[key] = found
        if kind == "Job" and (event == "DELETED" or not _keeps_pods(found)):
            self._lost = {pod: lost for pod, lost in self._lost.items() if lost[1] != key[1]}
        if kind == "Job" and event != "DELETED" and _framework(found):
            self._job(before, found, now)
        if kind == "Node":
            self._rooms[found["metadata"]["name"]] = _amount(found["status"]["allocatable"]["cpu"])
        if kind == "Pod":
            self._room(found, gone=event == "DELETED")
            self._pod(before, found, now)

    # -- at every event ------------------------------------------------------------------------

    def _job(self, before: Json | None, job: Json, now: float) -> None:
        spec, name = job["spec"], _name(job)
        if not _runs(job):
            return
        size = spec.get("parallelism", 1)
        if bounds := _bounds(job):
            self.judged["min <= parallelism <= max"] += 1
            if size and not bounds[0] <= size <= bounds[1]:
                what = f"{size} of {bounds[0]}..{bounds[1]}"
                self._break("min <= parallelism <= max", name, what)
        if before and _runs(before) and before["spec"].get("parallelism", 1) != size:
            why = job["metadata"].get("annotations", {}).get(PREFIX + "message", "")
            old = before["spec"].get("parallelism", 1)
            self.resizes.append(Resize(now, name, old, size, why))
        members = [one for one in self._training(job) if not _ended(one)]
        if members and all(map(_runs, members)):
            self.started.setdefault(_key(job), now)

    def _room(self, pod: Json, *, gone: bool) -> None:
        node, uid = pod["spec"].get("nodeName", ""), pod["metadata"]["uid"]
        holds = node and not gone and pod.get("status", {}).get("phase") not in _ENDED
        if not holds:
            self._used[node].pop(uid, None)
            return
        self._used[node][uid] = _cpu(pod["spec"])
        most, used = self._rooms.get(node), sum(self._used[node].values())
        self.judged["no node is overcommitted"] += 1
        if most is not None and used > most:
            what = f"{used} of {most} CPU with {_name(pod)}"
            self._break("no node is overcommitted", node, what)

    def _pod(self, before: Json | None, pod: Json, now: float) -> None:
        if before and not _leaves(before) and _leaves(pod):
            self._ended_by_us(pod, now)
        notes = pod["metadata"].get("annotations", {})
        old = (before or {}).get("metadata", {}).get("annotations", {})
        if PREFIX + "hostfile" in notes and notes != old:
            self._hosts(pod, _hosts(old), _hosts(notes), now)
        self._environment(pod)

    def _ended_by_us(self, pod: Json, now: float) -> None:
        """Chief, ps and launcher stay while their Job runs; others' deeds have a condition.

        One that never had a node has done nothing: where its node was filled it is made again.
        """
        job = self._owner(pod)
        role = (job or {}).get("metadata", {}).get("labels", {}).get(PREFIX + "role")
        if job is None or role not in PROTECTED or not pod["spec"].get("nodeName"):
            return
        conditions = {one["type"] for one in pod["status"].get("conditions", ())}
        others = "DisruptionTarget" in conditions or pod["status"].get("phase") in _ENDED
        earlier = _created(pod) < job.get("status", {}).get("startTime", "")
        size, index = job["spec"].get("parallelism", 1), _index(pod)
        if _keeps_pods(job) and index < size and not others and not earlier:
            broken = Violation("protected pods stay", _name(pod), f"{role} was deleted")
            self._lost[pod["metadata"]["uid"]] = now, job["metadata"]["uid"], broken

    def _hosts(self, launcher: Json, old: set[str], new: set[str], now: float) -> None:
        self.judged["host lists do not flap"] += 1
        for host in old - new:
            pod = self._pod_of_host(launcher, host)
            if pod and not _leaves(pod) and _ready(pod):
                self._left_list[_name(launcher), host] = now, pod["metadata"]["uid"]
        for host in new - old:
            left = self._left_list.pop((_name(launcher), host), None)
            pod = self._pod_of_host(launcher, host)
            if left and pod and pod["metadata"]["uid"] == left[1] and now - left[0] < FLAP:
                what = f"{host} came back after {now - left[0]:.1f} s"
                self._break("host lists do not flap", _name(launcher), what)

    def _environment(self, pod: Json) -> None:
        """TF_CONFIG, where it is written out, names the pod's own index."""
        for one in pod["spec"]["containers"][0].get("env", ()):
            if one["name"] == "TF_CONFIG" and "$(" not in one.get("value", "$("):
                self.judged["TF_CONFIG is right"] += 1
                task = json.loads(one["value"]).get("task", {})
                if task.get("index") not in (None, _index(pod)):
                    self._break("TF_CONFIG is right", _name(pod), str(task))

    # -- what must not last --------------------------------------------------------------------

    def look(self, now: float) -> None:
        for pod, (since, _, broken) in list(self._lost.items()):
            if now - since > BEHIND:
                self._break(*broken)
                del self._lost[pod]
        found = {(promise, subject): what for promise, subject, what in self._lasting()}
        for key in [key for key in self._since if key not in found]:
            del self._since[key]
        for key, what in found.items():
            since = self._since.setdefault(key, now)
            if now - since > PATIENCE:
                self._break(*key, f"{what}, for {now - since:.0f} s")
                self._since[key] = float("inf")  # said once

    def _lasting(self) -> Iterator[Violation]:
        for name, what in self._halves():
            yield Violation("no half starts", name, what)
        for pod in self._all("Pod"):
            hosts = _hosts(pod["metadata"].get("annotations", {}))
            if hosts and not _leaves(pod) and pod["status"].get("phase") not in _ENDED:
                self.judged["listed hosts exist"] += 1
                yield from self._missing(pod, hosts)

    def _missing(self, launcher: Json, hosts: set[str]) -> Iterator[Violation]:
        """Hosts that should have left the list. The last one stays: a list is never empty."""
        pods = {host: self._pod_of_host(launcher, host) for host in sorted(hosts)}
        rest = [host for host, pod in pods.items() if pod and _ready(pod) and not _leaves(pod)]
        for host in [host for host, pod in pods.items() if not pod and rest]:
            subject = f"{_name(launcher)} lists {host}"
            yield Violation("listed hosts exist", subject, f"beside {', '.join(rest)}")

    def _halves(self) -> Iterator[tuple[str, str]]:
        trainings = defaultdict(list)
        for job in self._all("Job"):
            if _framework(job) and not _ended(job) and not _leaves(job):
                trainings[_key(job)].append(job)
        for (namespace, name), jobs in trainings.items():
            self.judged["no half starts"] += 1
            waiting = [_name(job) for job in jobs if job["spec"].get("suspend")]
            if 0 < len(waiting) < len(jobs):
                yield f"{namespace}/{name}", f"{', '.join(waiting)} of {len(jobs)} waits"

    # -- at the end of a phase -----------------------------------------------------------------

    def twins(self, first: tuple[str, str], second: tuple[str, str], slack: float) -> None:
        """Two equal training jobs, the second created later: it does not start first."""
        self.judged["twins start in their order"] += 1
        early, late = self.started.get(second), self.started.get(first, float("inf"))
        if early is not None and late - early > slack:
            what = f"{'/'.join(second)} started {late - early:.1f} s before its twin"
            self._break("twins start in their order", "/".join(first), what)

    def calm(self, since: float, most: int = 0) -> None:
        """Nothing was changed from outside since then: sizes stand still."""
        self.judged["a calm cluster stays as it is"] += 1
        moved = [one for one in self.resizes if one.at >= since]
        if len(moved) > most:
            what = ", ".join(
                f"{one.job} {one.before}->{one.after} after {one.at - since:.0f} s: {one.why}"
                for one in moved[:12]
            )
            self._break("a calm cluster stays as it is", f"{len(moved)} resizes", what)

    def fair(self, slack: int) -> None:
        """At calm, equal jobs that could be larger differ by little."""
        sizes = defaultdict(list)
        for job in self._all("Job"):
            bounds = _bounds(job)
            if bounds and _framework(job) and _runs(job) and bounds[0] < bounds[1]:
                spec = job["spec"]["template"]["spec"]
                priority = spec.get("priorityClassName", "")
                alike = (_framework(job), bounds, _cpu(spec), priority)
                sizes[alike].append((job["spec"].get("parallelism", 1), _name(job)))
        for shares in sizes.values():
            self.judged["equal jobs have equal shares"] += 1
            if max(shares)[0] - min(shares)[0] > slack:
                self._break("equal jobs have equal shares", "calm", str(sorted(shares)))

    def unchanged(self, changed: list[str]) -> None:
        """The same manifests were applied again."""
        self.judged["applying again changes nothing"] += 1
        if changed:
            self._break("applying again changes nothing", f"{len(changed)} Jobs", str(changed[:9]))

    def nothing_left(self) -> None:
        """All training jobs were deleted a while ago."""
        self.judged["no orphans"] += 1
        if found := self.orphans():
            self._break("no orphans", f"{len(found)} objects", ", ".join(found[:9]))

    def orphans(self) -> list[str]:
        """What stands around training jobs whose Jobs are gone."""
        alive = {job["metadata"]["uid"] for job in self._all("Job")}
        return [
            f"{kind} {_name(found)}"
            for kind in _AROUND
            for found in self._all(kind)
            if PREFIX + "job" in found["metadata"].get("labels", {})
            and not alive & {one["uid"] for one in found["metadata"].get("ownerReferences", ())}
        ]

    # -- what these are made of ----------------------------------------------------------------

    def _all(self, kind: str) -> list[Json]:
        # At once: a watch may add objects meanwhile.
        return [found for (name, _), found in list(self.objects.items()) if name == kind]

    def _training(self, job: Json) -> list[Json]:
        return [one for one in self._all("Job") if _framework(one) and _key(one) == _key(job)]

    def _owner(self, pod: Json) -> Json | None:
        owners = pod["metadata"].get("ownerReferences", ())
        jobs = (self.objects.get(("Job", one["uid"])) for one in owners)
        return next((job for job in jobs if job), None)

    def _pod_of_host(self, launcher: Json, host: str) -> Json | None:
        namespace = launcher["metadata"]["namespace"]
        for pod in self._all("Pod"):
            meta = pod["metadata"]
            if meta["namespace"] == namespace and meta["name"].rpartition("-")[0] == host:
                return pod
        return None

    def _break(self, promise: str, subject: str, what: str) -> None:
        self.violations.append(Violation(promise, subject, what))


def _name(found: Json) -> str:
    meta = found["metadata"]
    return f"{meta.get('namespace', '')}/{meta['name']}"


def _framework(job: Json) -> str:
    return str(job["metadata"].get("labels", {}).get(PREFIX + "framework", ""))


def _key(job: Json) -> tuple[str, str]:
    meta = job["metadata"]
    return meta["namespace"], meta.get("labels", {}).get(PREFIX + "job", meta["name"])


def _bounds(job: Json) -> tuple[int, int] | None:
    """By the labels min and max, else by the roles in its annotation."""
    labels, notes = job["metadata"].get("labels", {}), job["metadata"].get("annotations", {})
    if PREFIX + "min" in labels and PREFIX + "max" in labels:
        return int(labels[PREFIX + "min"]), int(labels[PREFIX + "max"])
    for role, low, high in _BOUNDS.findall(notes.get(PREFIX + "roles", "")):
        if role == labels.get(PREFIX + "role"):
            return int(low), int(high or low)
    return None


def _runs(job: Json) -> bool:
    return not job["spec"].get("suspend") and not _ended(job)


def _ended(job: Json) -> bool:
    conditions = job.get("status", {}).get("conditions", ())
    over = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
    return any(one["type"] in over and one["status"] == "True" for one in conditions)


def _keeps_pods(job: Json) -> bool:
    return _runs(job) and not _leaves(job)


def _created(found: Json) -> str:
    return str(found["metadata"].get("creationTimestamp", ""))


def _leaves(found: Json) -> bool:
    return "deletionTimestamp" in found["metadata"]


def _ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _index(pod: Json) -> int:
    notes = pod["metadata"].get("annotations", {})
    return int(notes.get("batch.kubernetes.io/job-completion-index", 0))


def _hosts(notes: Json) -> set[str]:
    return {line.partition(".")[0] for line in notes.get(PREFIX + "hostfile", "").split()}


def _cpu(spec: Json) -> Decimal:
    asked = (one.get("resources", {}).get("requests", {}).get("cpu", "0")
             for one in spec["containers"])  # fmt: skip
    return sum(map(_amount, asked), Decimal(0))


def _amount(text: str) -> Decimal:
    return Decimal(text[:-1]) / 1000 if text.endswith("m") else Decimal(text)
