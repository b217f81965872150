"""Generated AdmissionReviews: nothing is answered by an error of ours, and every patch is sound."""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from edl.inject import handlers
from edl.inject.handlers import AdmissionVerdict
from tests.fuzz import report
from tests.fuzz import trial as trials
from tests.fuzz.generated import Case, Generator
from tests.fuzz.growth import GROWTHS
from tests.fuzz.trial import Trial
from tests.webhook import wire
from tests.webhook.wire import Process

REPOSITORY = Path(__file__).parents[2]
MILLION = 1_000_000


@pytest.mark.slow
def test_thousands_of_reviews_meet_no_defect_and_most_are_judged() -> None:
    trial = Trial()
    trial.run(Generator(1).cases(2_000))
    trial.stop()
    assert trial.tally.defects == []
    assert trial.tally.share("reached mutate()") > 0.6
    assert trial.tally.counted["patched"] > 200
    assert max(trial.tally.statuses) < 500


def test_a_core_that_fails_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> AdmissionVerdict:
        raise RuntimeError("a bug")

    monkeypatch.setattr(handlers, "mutate", failing)
    trial = Trial()
    trial.run(Generator(1).cases(40))
    trial.stop()
    assert any("a bug" in found for found in trial.tally.defects)


def test_a_core_that_takes_ten_times_what_it_may_is_a_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lengthy(*_: object) -> AdmissionVerdict:
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        return AdmissionVerdict({})

    monkeypatch.setattr(handlers, "mutate", lengthy)
    # A tenth of the usual law: each attempt takes its time on the processor.
    monkeypatch.setattr(trials, "SECONDS_AT_ALL", trials.SECONDS_AT_ALL / 10)
    monkeypatch.setattr(trials, "SECONDS_A_KIB", trials.SECONDS_A_KIB / 10)
    trial = Trial()
    trial.run([next(case for case in Generator(1).cases(40) if case.path == "/mutate")])
    trial.stop()
    assert any("above" in found for found in trial.tally.defects)


@pytest.mark.slow
def test_what_is_grown_on_purpose_costs_no_more_than_its_size() -> None:
    trial, generator = Trial(), Generator(3)
    trial.run(map(generator.grown, range(3 * len(GROWTHS))))
    trial.stop()
    assert trial.tally.defects == []
    assert trial.tally.counted["reached mutate()"] > 12


def test_a_seed_makes_the_same_requests_again() -> None:
    one, other, another = (list(Generator(seed).cases(50)) for seed in (1, 1, 2))
    assert one == other
    assert one != another


@pytest.mark.slow
def test_some_hundreds_over_tls_leave_the_server_as_it_was(tmp_path: Path) -> None:
    cases = [case for case in Generator(2).cases(300) if case.path.isprintable()]
    with wire.webhook(tmp_path) as served:
        statuses = asyncio.run(answered(served, cases))
        assert sum(statuses.values()) == len(cases) > 290
        assert max(statuses) < 500
        assert statuses[200] > 150
        assert "Traceback" not in served.logged()


async def answered(served: Process, cases: Iterable[Case]) -> Counter[int]:
    """The status of every request; a connection that the server closed is opened again."""
    statuses: Counter[int] = Counter()
    waiting = list(cases)
    while waiting:
        async with served.connection() as connection:
            while waiting:
                await connection.send(request(waiting.pop()))
                said = await connection.answer()
                statuses[said.status] += 1
                if said.headers.get("connection") == "close":
                    break
    return statuses


def request(case: Case) -> bytes:
    kind = "" if case.content_type is None else f"content-type: {case.content_type}\r\n"
    head = f"{case.method} {case.path} HTTP/1.1\r\nhost: x\r\n{kind}"
    return f"{head}content-length: {len(case.body)}\r\n\r\n".encode() + case.body


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_million_reviews_meet_no_defect_and_memory_stays_flat() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--count", str(MILLION)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    counted, memory = found["counted"], found["memory"]
    begun, ended = memory[0], memory[-1]
    report.write(
        "In one process: the app as it is served",
        [
            ("requests", f"{counted['requests']:,}"),
            *((name, f"{counted[name]:,}") for name in sorted(counted) if name != "requests"),
            *((f"HTTP {status}", f"{count:,}") for status, count in found["statuses"].items()),
            ("memory after a tenth", f"{begun >> 20} MiB"),
            ("memory at the end", f"{ended >> 20} MiB"),
            ("requests a second, judged by the laws", f"{MILLION / found['seconds']:,.0f}"),
        ],
    )
    assert found["defects"] == []
    assert counted["reached mutate()"] > 0.6 * MILLION
    assert max(map(int, found["statuses"])) < 500
    assert ended < 1.2 * begun
