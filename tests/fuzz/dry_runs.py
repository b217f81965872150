"""Generated objects through a real API server that calls our webhook: dry runs, judged.

A refusal of the API server may be the user's own fault or ours. It is ours if the same object
passes once our labels and annotations have a foreign prefix, for then no webhook completes it.
"""

import copy
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from edl import contract
from edl.kube.auth.credentials import ClientConfig
from edl.writes import Json
from tests.fuzz.generated import Generator
from webhook.handler import INTERNAL_ERROR

Seen: TypeAlias = tuple[str, str]
"""What is counted, and what is wrong with it; empty where nothing is."""

_PATHS: Final = {"Job": "/apis/batch/v1/namespaces/{}/jobs", "Pod": "/api/v1/namespaces/{}/pods"}
_BY_US: Final = 'edl.dev" denied the request'
_BROKEN: Final = (INTERNAL_ERROR, "failed calling webhook", "cannot decode", "jsonpatch", "patch:")
_THREADS: Final = 4
_UPDATES: Final = 4
_STORED: Final = 30


@dataclass(frozen=True, slots=True)
class Said:
    """What the API server answered."""

    status: int
    message: str

    @property
    def accepted(self) -> bool:
        return self.status < 300


@dataclass
class Findings:
    """Counts of what became of the dry runs, and each defect in words."""

    counted: Counter[str] = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Server:
    """An API server and a namespace of it, in which nothing is ever stored."""

    login: ClientConfig
    namespace: str

    def create(self, manifest: Json) -> Said:
        return self._ask("POST", self._path(manifest), manifest)

    def replace(self, manifest: Json) -> Said:
        return self._ask("PUT", f"{self._path(manifest)}/{manifest['metadata']['name']}", manifest)

    def store(self, manifest: Json) -> Said:
        """Not dry: what updates need."""
        return self._ask("POST", self._path(manifest), manifest, dry="")

    def _path(self, manifest: Json) -> str:
        return _PATHS[manifest["kind"]].format(self.namespace)

    def _ask(self, method: str, path: str, manifest: Json, dry: str = "?dryRun=All") -> Said:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token := self.login.authorization():
            headers["Authorization"] = token
        answer = self.login.pool.request(
            method, f"{self.login.server}{path}{dry}", body=json.dumps(manifest), headers=headers
        )
        message = "" if answer.status < 300 else json.loads(answer.data)["message"]
        return Said(answer.status, message)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where objects are tried, and where some are stored to be updated."""

    generator: Generator
    creations: Server
    updates: Server
    stored: tuple[Json, ...]

    def trial(self, number: int) -> list[Seen]:
        """One creation, and an update with every fourth."""
        seen = [*self._creation(number)]
        return seen if number % _UPDATES else [*seen, *self._update(number)]

    def _creation(self, number: int) -> Iterator[Seen]:
        manifest = _placed(self.generator.sensible(number), self.creations.namespace)
        said = self.creations.create(manifest)
        yield "creations", ""
        yield from _judged(said)
        if not said.accepted and _BY_US not in said.message:
            alone = self.creations.create(_with_a_foreign_prefix(manifest))
            blame = f"refused with us alone: {said.message}" if alone.accepted else ""
            yield ("refused with us alone" if blame else "refused without us too"), blame

    def _update(self, number: int) -> Iterator[Seen]:
        before = self.stored[number // _UPDATES % len(self.stored)]
        yield "updates", ""
        yield from _judged(self.updates.replace(self.generator.changed(before, number)))


def stage(generator: Generator, creations: Server, updates: Server) -> Stage:
    """With a few Jobs that really are there, of those that nobody refuses."""
    placed = (
        _placed(manifest, updates.namespace)
        for manifest in generator.accepted("Job")
        if "name" in manifest["metadata"]
    )
    stored = tuple(one for one in itertools.islice(placed, _STORED) if updates.store(one).accepted)
    return Stage(generator, creations, updates, stored)


def run(stage: Stage, count: int) -> Findings:
    """`count` creations, and the updates between them."""
    findings = Findings()
    with ThreadPoolExecutor(_THREADS) as pool:
        for number, seen in enumerate(pool.map(stage.trial, range(count))):
            for name, defect in seen:
                findings.counted[name] += 1
                if defect:
                    findings.defects.append(f"object {number}: {defect[:900]}")
    return findings


def _judged(said: Said) -> Iterator[Seen]:
    if said.accepted:
        yield "accepted", ""
    elif _BY_US in said.message:
        yield "refused by kubectl-edl, in words", ""
    else:
        yield f"refused by the API server ({said.status})", ""
    if said.status >= 500 or any(word in said.message for word in _BROKEN):
        yield "errors", f"{said.status}: {said.message}"


def _placed(manifest: Json, namespace: str) -> Json:
    return manifest | {"metadata": manifest["metadata"] | {"namespace": namespace}}


def _with_a_foreign_prefix(manifest: Json) -> Json:
    """The same texts under a foreign prefix: an API server calls no webhook of ours for it."""
    bare = copy.deepcopy(manifest)
    for part in (bare, bare["spec"].get("template") or {}):
        metadata = part.get("metadata") or {}
        for place in ("labels", "annotations"):
            found = metadata.get(place) or {}
            metadata[place] = {
                name.replace(contract.PREFIX, "example.com/"): text for name, text in found.items()
            }
    return bare
