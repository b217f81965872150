"""Real manifests: what the examples, the golden files and the laws' own draws hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from edl.errors import Denied
from edl.inject.handlers import AdmissionRequest, mutate
from edl.writes import Json
from tests.edl.manifests import CONTEXT, horovod, job, pod, role_manifest
from tests.golden import cases

_EXAMPLES: Final = Path(__file__).parents[2] / "examples"
NAMESPACE: Final = "lab"


@dataclass(frozen=True, slots=True)
class Seed:
    """What a user writes, and what is stored of it; None where it is refused."""

    given: Json
    stored: Json | None


@cache
def seeds() -> tuple[Seed, ...]:
    """Always the same, in the same order."""
    found = (*_examples(), *_golden(), *_drawn())
    return tuple(Seed(given, _stored(given)) for given in found)


def _examples() -> Iterator[Json]:
    for path in sorted(_EXAMPLES.rglob("*.yaml")):
        for document in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            if isinstance(document, dict) and document.get("kind") in ("Job", "Pod"):
                metadata = document.get("metadata") or {}
                yield document | {"metadata": metadata | {"namespace": NAMESPACE}}


def _golden() -> Iterator[Json]:
    yield from (golden.given for golden in cases.goldens())
    yield from (denial.given for denial in cases.denials())


def _drawn() -> Iterator[Json]:
    """One of each shape that the laws draw from; their every combination is the mutations' part."""
    yield job(framework="none", min="1", max="3", spec={"completions": 12})
    yield job(framework="tensorflow", max="5", gpu="0.5", gpu_memory="1Gi")
    yield job(framework="pytorch", min="2", max="4", annotations={"restart": "ExitCode"})
    yield from (role_manifest(role) for role in ("chief", "ps", "worker"))
    yield from (horovod(role) for role in ("launcher", "worker"))
    yield pod("any", framework="none", job="mnist", annotations={"rank": "1", "size": "3"})
    yield job("plain")
    yield pod("plain")


def _stored(given: Json) -> Json | None:
    try:
        return mutate(AdmissionRequest("CREATE", given, None, "alice"), CONTEXT).manifest
    except Denied:
        return None
