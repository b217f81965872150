"""Whatever strikes while users come and go, the laws hold, and every job ends."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.errors import BuildError
from sandbox.paths import places
from tests.torture.faults import LANES
from tests.torture.run import Scale, torture
from tests.torture.scene import Scene, clock_library, scene

KINDS = [kind for lane in LANES.values() for kind in lane]
FIGURES = Path(__file__).parents[2] / "benchmarks" / "torture.md"
WORTH_KEEPING = 1000
SHORT = Scale(faults=len(KINDS), jobs=10, seed=7, rest=0.3)
LONG = Scale(
    faults=int(os.environ.get("EDL_TORTURE_FAULTS", "1000")),
    jobs=int(os.environ.get("EDL_TORTURE_JOBS", "200")),
    seed=int(os.environ.get("EDL_TORTURE_SEED", "1")),
    rest=1.0,
)


@pytest.fixture
def tortured(tmp_path: Path) -> Iterator[Scene]:
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs a control plane of its own to break; EDL_KUBECONFIG={named}")
    try:
        clock_library()
    except BuildError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no clocks that jump: {error}")
    with scene(f"torture-{os.getpid()}", tmp_path) as made:
        yield made


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Progress of a long run, past pytest's capture."""

    def tell(line: str) -> None:
        with capsys.disabled():
            print(line, flush=True)  # noqa: T201 - half an hour without a word is long

    return tell


@pytest.mark.integration
@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_laws_hold_under_a_fault_of_each_kind(tortured: Scene) -> None:
    report = torture(tortured, SHORT, ledger := _story("short"))
    assert not report.violations, f"{report.text()}\nthe story: {ledger}"
    assert {kind: report.tally.struck[kind] for kind in KINDS} == dict.fromkeys(KINDS, 1)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_the_laws_hold_under_a_thousand_faults(tortured: Scene, say: Callable[[str], None]) -> None:
    report = torture(tortured, LONG, ledger := _story(f"seed-{LONG.seed}"), say)
    say(report.text())
    assert not report.violations, f"the story: {ledger}"
    least = LONG.faults // len(KINDS)
    assert all(report.tally.struck[kind] >= least for kind in KINDS)
    if LONG.faults >= WORTH_KEEPING:
        FIGURES.write_text(f"```\n{report.text()}```\n")


def _story(name: str) -> Path:
    """The file for the ledger of a run; that of the run before it stays beside it."""
    path = places(os.environ).sandboxes.parent / "torture" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.replace(path.with_name(f"{name}-before.jsonl"))
    return path
