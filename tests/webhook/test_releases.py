"""While a release is rolled out, two of them serve: neither refuses what the other completed."""

import asyncio
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import jsonpatch
import pytest

from edl import contract
from edl.writes import Json
from tests.webhook import reviews, wire
from tests.webhook.wire import Process

ROOT = Path(__file__).parents[2]
GIVEN = reviews.job(framework="pytorch", min="1", max="3")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Process]]:
    """This release, and another one that completes the same Job otherwise."""
    folder = tmp_path_factory.mktemp("releases")
    for package in ("edl", "webhook", "certs"):
        shutil.copytree(ROOT / package, folder / "code" / package)
    rules = folder / "code" / "edl" / "inject" / "pods" / "mutate_pod.py"
    changed = rules.read_text().replace("_NEAR: Final = 50", "_NEAR: Final = 60")
    assert changed != rules.read_text()
    rules.write_text(changed)
    (folder / "here").mkdir()
    (folder / "there").mkdir()
    with (
        wire.webhook(folder / "here") as here,
        wire.webhook(folder / "there", code=folder / "code") as there,
    ):
        yield here, there


async def asked(process: Process, path: str, manifest: Json, **changes: object) -> Json:
    async with process.connection() as connection:
        answered = await connection.ask("POST", path, reviews.review(manifest, **changes))
    return reviews.response(answered.body)


def completed(process: Process) -> Json:
    answer = asyncio.run(asked(process, "/mutate", GIVEN))
    done: Json = jsonpatch.apply_patch(GIVEN, reviews.operations(answer))
    return done


def refusal(process: Process, manifest: Json, **changes: object) -> str:
    answer = asyncio.run(asked(process, "/validate", manifest, **changes))
    return "" if answer["allowed"] else answer["status"]["message"]


def test_each_release_takes_what_either_completed(both: tuple[Process, Process]) -> None:
    here, there = map(completed, both)
    assert here != there
    for process, manifest in itertools.product(both, (here, there)):
        assert refusal(process, manifest) == ""


def test_each_release_takes_the_sizes_of_either_reconciler(both: tuple[Process, Process]) -> None:
    for process, first in itertools.product(both, both):
        old = completed(first)
        new = old | {"spec": old["spec"] | {"parallelism": 3, "completions": 3, "suspend": False}}
        changes = {
            "operation": "UPDATE",
            "oldObject": old,
            "userInfo": {"username": contract.RECONCILER_USER},
        }
        answer = asyncio.run(asked(process, "/mutate", new, **changes))
        assert reviews.operations(answer) == []
        assert refusal(process, new, **changes) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("field", "value"), [("suspend", False), ("completionMode", "NonIndexed")])
def test_neither_takes_what_was_undone_meanwhile(
    both: tuple[Process, Process], field: str, value: object
) -> None:
    for process, first in itertools.product(both, both):
        done = completed(first)
        undone = done | {"spec": done["spec"] | {field: value}}
        said = "another webhook changed" if process is first else "another one changed it"
        assert said in refusal(process, undone)
