"""The page about Kubernetes releases says what the last `make matrix` found, and nothing else."""

from pathlib import Path

import msgspec
import pytest

from kubectl_edl.doctor.checks.api_version import NEWEST, OLDEST
from sandbox.builds.recipe import version
from sandbox.releases import RELEASES, control_plane
from tests import matrix
from tests.matrix import Outcome

ROOT = Path(__file__).parents[2]
REPORT = """<testsuites><testsuite>
<testcase file="tests/integration/test_pins.py" name="test_a"/>
<testcase file="tests/integration/test_pins.py" name="test_b"><failure message="no"/></testcase>
<testcase file="tests/integration/test_pins.py" name="test_b"><error message="no"/></testcase>
<testcase file="tests/integration/test_spot.py" name="test_c"><skipped message="no"/></testcase>
<testcase file="tests/integration/test_spot.py" name="test_d"/>
<testcase file="tests/integration/test_spot.py" name="test_f"><properties>
  <property name="pods" value="12"/></properties></testcase>
<testcase classname="tests.integration.test_cluster_contract_real.TestApiServer"
  file="tests/edl/kube/cluster_contract.py" name="test_e"/>
</testsuite></testsuites>"""
GOOD = Outcome(9, 1, (), "v1.35.4", "abc1234", "2026-01-02 10:00")
BAD = Outcome(3, 0, ("test_pins_come",), "v1.35.4", "abc1234", "2026-01-03 10:00")


def test_the_page_is_made_of_the_record() -> None:
    text = matrix.PAGE.read_text()
    made = matrix.page(text, matrix.read(matrix.RECORD))
    assert made == text, "python -m tests.matrix --page"


def test_the_record_tells_of_the_releases_that_are_pinned() -> None:
    record = matrix.read(matrix.RECORD)
    assert record.keys() <= set(RELEASES)
    for minor, files in record.items():
        assert {each.patch for each in files.values()} == {version(control_plane(minor))}


def test_the_record_names_test_files_that_there_are() -> None:
    """Else the page would count what nobody can run any more."""
    record = matrix.read(matrix.RECORD)
    assert matrix.there(record) == record, "python -m tests.matrix --page"


def test_every_place_names_the_releases_that_are_tested() -> None:
    assert [".".join(map(str, one)) for one in (OLDEST, NEWEST)] == [RELEASES[0], RELEASES[-1]]
    for name in ("README.md", "docs/operations/install.md"):
        assert f"Kubernetes {RELEASES[0]} or newer" in (ROOT / name).read_text()
    assert f"Kubernetes {RELEASES[0]} to {RELEASES[-1]} are tested" in matrix.PAGE.read_text()


def test_a_run_is_read_by_test_file() -> None:
    found = matrix.outcomes(REPORT, "v1.35.4", "abc1234")
    counts = {file: (one.passed, one.skipped, one.failed) for file, one in found.items()}
    assert counts == {
        "tests/integration/test_pins.py": (1, 0, ("test_b",)),
        "tests/integration/test_spot.py": (2, 1, ()),
        "tests/integration/test_cluster_contract_real.py": (1, 0, ()),
    }
    assert {(one.patch, one.commit) for one in found.values()} == {("v1.35.4", "abc1234")}


def test_the_table_says_what_failed_and_what_did_not_run() -> None:
    whole = {"tests/integration/test_a.py": GOOD, "tests/integration/test_pins.py": GOOD}
    part = {"tests/integration/test_pins.py": BAD}
    lines = matrix.table({"1.36": whole, "1.35": part}).splitlines()
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line[:3] == "| 1"}
    assert list(rows) == list(reversed(RELEASES))
    assert rows["1.36"].endswith("| 18 | 0 | 2 | 2 | 2026-01-02 10:00, `abc1234` |")
    assert rows["1.35"].endswith("| 3 | 1 | 0 | 1 | 2026-01-03 10:00, `abc1234` |")
    assert "never run" in rows["1.33"]
    assert lines[-3:] == [
        "Failed on 1.35: `test_pins_come` (integration/test_pins).",
        "",
        "On 1.35 only these test files ran: integration/test_pins.",
    ]


def test_a_row_of_several_commits_says_how_many_files_each_had() -> None:
    later = msgspec.structs.replace(GOOD, commit="def5678", date="2026-01-04 10:00")
    rows = matrix.table({"1.36": {"a.py": later, "b.py": GOOD, "c.py": GOOD}})
    assert "| 3 | 2026-01-04 10:00, `abc1234` (2 of 3 files), `def5678` (1 of 3 files) |" in rows


def test_the_few_files_that_did_not_run_are_named() -> None:
    files = {f"tests/integration/test_{number}.py": GOOD for number in range(20)}
    more = files | {"tests/integration/test_more.py": GOOD}
    told = matrix.table({"1.36": more, "1.35": files}).splitlines()[-1]
    assert told == "On 1.35 these test files did not run: integration/test_more."


def test_a_record_is_read_as_written_in_the_order_of_releases(tmp_path: Path) -> None:
    record = {"1.36": {"b.py": GOOD, "a.py": BAD}, "1.35": {"a.py": GOOD}}
    matrix.write(tmp_path / "record", record)
    assert matrix.read(tmp_path / "record") == record
    assert list(msgspec.json.decode((tmp_path / "record").read_bytes())) == ["1.35", "1.36"]
    assert matrix.read(tmp_path / "none") == {}


def test_a_kubeconfig_of_one_cluster_excludes_the_matrix(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EDL_KUBECONFIG", "/somewhere")
    monkeypatch.setattr("sys.argv", ["matrix", "1.36"])
    with pytest.raises(SystemExit):
        matrix.main()
    assert "one cluster of one release: unset it" in capsys.readouterr().err


def test_a_test_that_passed_alone_in_a_green_lane_counts_as_passed() -> None:
    assert matrix.passed_alone(BAD) == Outcome(4, 0, (), BAD.patch, BAD.commit, BAD.date)
