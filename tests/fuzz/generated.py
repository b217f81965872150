"""AdmissionReviews without end: real manifests with odd things in them, and bytes that are none."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import msgspec

from edl import contract
from edl.writes import Json
from tests.fuzz import growth, teams, twists
from tests.fuzz.seeds import seeds
from webhook.http.connection_limits import LIMIT

JSON: Final = "application/json"
NAMESPACES: Final = ("lab",) * 30 + ("opted-in", "tight", "garbled") * 10 + ("absent", "../a", "")
"""Of `policies.py`: most say nothing."""
_USERS: Final = ("alice", "alice", "system:admin", contract.RECONCILER_USER, "ü'\"\n")
_LOOKS: Final = ("/mutate", "/validate", "/advise")
_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT", "EXPLODE")
_OPERATION_WEIGHTS: Final = (62, 32, 3, 2, 1)
_TWISTS: Final = (0, 1, 1, 2, 4)
_FEW_TWISTS: Final = (0, 1, 1, 2)
_TYPES: Final = (None, "", "text/plain", "application/yaml", "multipart/form-data", "a" * 3_000)
_PATHS: Final = ("/", "/mutate/", "/MUTATE", "/metrics", "/healthz", "/%00", "/\x7f", "/" + "a" * 9)


@dataclass(frozen=True, slots=True)
class Case:
    """One request. `number` and the run's seed make it again."""

    number: int
    method: str
    path: str
    body: bytes
    content_type: str | None
    grown: bool = False
    """Made to cost much: its memory is measured."""


class Generator:
    """The cases of one seed; each is made of the seed and its number alone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        found = seeds()
        self._given = tuple(msgspec.json.encode(each.given) for each in found)
        self._stored = tuple(
            (msgspec.json.encode(each.given), msgspec.json.encode(each.stored))
            for each in found
            if each.stored is not None
        )

    def case(self, number: int) -> Case:
        random = Random(f"{self._seed}-{number}")  # noqa: S311 - tests, no secrets
        kind = random.choices(_CASES, _CASE_WEIGHTS)[0]
        made: Case = kind(self, number, random)
        return made

    def cases(self, count: int, first: int = 0) -> Iterator[Case]:
        return map(self.case, range(first, first + count))

    def sensible(self, number: int) -> Json:
        """A new manifest that a user may have written: no type in it is wrong."""
        random = Random(f"{self._seed}-sensible-{number}")  # noqa: S311 - the same
        manifest = self._new(random)
        for _ in range(random.choice(_FEW_TWISTS)):
            twists.usual(random, manifest)
        return manifest

    def changed(self, manifest: Json, number: int) -> Json:
        """An update of it that a user may try."""
        random = Random(f"{self._seed}-changed-{number}")  # noqa: S311 - the same
        new = copy.deepcopy(manifest)
        name = new["metadata"]["name"]
        for _ in range(random.choice(_FEW_TWISTS)):
            twists.usual(random, new)
        new["metadata"] = new["metadata"] | {"name": name}
        new["metadata"].pop("generateName", None)
        return new

    def accepted(self, kind: str) -> tuple[Json, ...]:
        """What users wrote and is not refused."""
        found = (msgspec.json.decode(given) for given, _ in self._stored)
        return tuple(one for one in found if one.get("kind") == kind)

    def _new(self, random: Random) -> Json:
        found: Json = msgspec.json.decode(random.choice(self._given))
        return found

    def _review(self, number: int, random: Random) -> Case:
        (path,) = random.choices(_LOOKS, (80, 13, 7))
        operation = random.choices(_OPERATIONS, _OPERATION_WEIGHTS)[0]
        new, old = self._pair(random, operation)
        request = _request(random, operation, new, old)
        return Case(number, "POST", path, _encoded(request), JSON)

    def _pair(self, random: Random, operation: str) -> tuple[Json | None, Json | None]:
        if operation == "CREATE":
            return _twisted(random, self._new(random)), None
        given, stored = map(msgspec.json.decode, random.choice(self._stored))
        if operation != "UPDATE":
            return None, stored
        # Applied again from the file, or edited as it is stored.
        base = given if random.random() < 0.4 else copy.deepcopy(stored)
        if random.random() < 0.05:
            stored = _twisted(random, stored)
        return _twisted(random, base), stored

    def grown(self, number: int) -> Case:
        """One that names much in few bytes, or has much of one thing."""
        random = Random(f"{self._seed}-grown-{number}")  # noqa: S311 - the same
        return self._grown(number, random)

    def _grown(self, number: int, random: Random) -> Case:
        manifest = self._new(random)
        growth.GROWTHS[number % len(growth.GROWTHS)](random, manifest, random.choice(growth.COUNTS))
        path = random.choice(_LOOKS)
        old = copy.deepcopy(manifest) if random.random() < 0.3 else None
        request = _request(random, "UPDATE" if old else "CREATE", manifest, old)
        return Case(number, "POST", path, _encoded(request), JSON, grown=True)

    def _teams(self, number: int, random: Random) -> Case:
        """What administrators write, and whatever else is in its place."""
        path = "/validate" if random.random() < 0.9 else random.choice(_LOOKS)
        manifest = teams.config_map(random, teams.drawn(random))
        return Case(
            number, "POST", path, _encoded(_request(random, "CREATE", manifest, None)), JSON
        )

    def _wrapped(self, number: int, random: Random) -> Case:
        """The review itself is odd, around a manifest that is not."""
        request = _request(random, "CREATE", self._new(random), None)
        envelope: Json = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {name: value for name, value in request.items() if name != "object"},
        }
        for _ in range(random.choice(_TWISTS)):
            twists.odd(random, envelope)
        if isinstance(envelope.get("request"), dict):
            envelope["request"].setdefault("object", request["object"])
        return Case(number, "POST", "/mutate", _raw(msgspec.json.encode(envelope)), JSON)

    def _broken(self, number: int, random: Random) -> Case:
        """A review's bytes, cut, flipped, doubled or filled up."""
        body = self._review(number, random).body
        return Case(number, "POST", "/mutate", random.choice(_BREAKS)(random, body), JSON)

    def _noise(self, number: int, random: Random) -> Case:
        return Case(number, "POST", "/mutate", random.randbytes(random.randrange(400)), JSON)

    def _mistyped(self, number: int, random: Random) -> Case:
        body = self._review(number, random).body
        return Case(number, "POST", "/mutate", body, random.choice(_TYPES))

    def _astray(self, number: int, random: Random) -> Case:
        method = random.choice(("GET", "PUT", "POST", "DELETE", "OPTIONS", "BREW"))
        return Case(number, method, random.choice(_PATHS), b"{}", JSON)


def _twisted(random: Random, manifest: Json) -> Json:
    """Three of four stay of the types that an API server would send."""
    twist = twists.usual if random.random() < 0.75 else twists.odd
    for _ in range(random.choice(_TWISTS)):
        twist(random, manifest)
    return manifest


def _request(random: Random, operation: str, new: Json | None, old: Json | None) -> Json:
    kind = ((new or old or {}).get("kind")) or "Job"
    return {
        "uid": f"uid-{random.randrange(10**9)}",
        "kind": {
            "group": "batch",
            "version": "v1",
            "kind": kind if isinstance(kind, str) else "Job",
        },
        "operation": operation,
        "name": "mnist",
        "namespace": random.choice(NAMESPACES),
        "userInfo": {"username": random.choice(_USERS), "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": random.random() < 0.2,
        "options": {"kind": "CreateOptions"},
    }


def _encoded(request: Json) -> bytes:
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return _raw(msgspec.json.encode(envelope))


def _raw(body: bytes) -> bytes:
    for word, bytes_ in twists.RAW.items():
        body = body.replace(word, bytes_)
    return body


def _cut(random: Random, body: bytes) -> bytes:
    return body[: random.randrange(len(body))]


def _flipped(random: Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _doubled(random: Random, body: bytes) -> bytes:
    """Each key of some kind twice, or the whole review."""
    key = random.choice((b'"metadata":', b'"spec":', b'"object":', b'"labels":'))
    return random.choice((body + body, body.replace(key, key + b"null," + key)))


def _filled(random: Random, body: bytes) -> bytes:
    """Seldom huge: it takes as long as a thousand others."""
    size = LIMIT + 1 if random.random() < 0.002 else 50_000
    return body + b" " * size


def _bottomless(random: Random, body: bytes) -> bytes:
    levels = random.choice((90, 120, 900, 5_000))
    return body.replace(
        b'"metadata":', b'"deep":' + b"[" * levels + b"]" * levels + b',"metadata":', 1
    )


_BREAKS: Final[tuple[Any, ...]] = (_cut, _flipped, _flipped, _doubled, _filled, _bottomless)
_CASES: Final[tuple[Any, ...]] = (
    *(Generator._review, Generator._wrapped, Generator._broken),  # noqa: SLF001 - its own kinds
    *(Generator._noise, Generator._mistyped, Generator._astray),  # noqa: SLF001
    *(Generator._grown, Generator._teams),  # noqa: SLF001
)
_CASE_WEIGHTS: Final = (825, 50, 60, 20, 20, 10, 1, 15)
