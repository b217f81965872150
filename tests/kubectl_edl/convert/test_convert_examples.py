"""The outputs in examples/convert are those of `kubectl edl convert`."""

from pathlib import Path

import pytest

from tests.kubectl_edl.stage import Stage

EXAMPLES = Path(__file__).parents[3] / "examples" / "convert"
SOURCES = sorted(path for path in EXAMPLES.glob("*.yaml") if not path.name.endswith(".jobs.yaml"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_jobs_of_an_example_are_its_conversion(source: Path) -> None:
    found = Stage().run("convert", "-f", str(source))
    assert found.code in (0, 7), found.err
    assert found.out == source.with_suffix(".jobs.yaml").read_text()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_converting_the_jobs_again_changes_nothing(source: Path) -> None:
    result = source.with_suffix(".jobs.yaml")
    found = Stage().run("convert", "-f", str(result))
    assert (found.code, found.err, found.out) == (0, "", result.read_text())


def test_every_result_has_a_source() -> None:
    results = {path.name.removesuffix(".jobs.yaml") for path in EXAMPLES.glob("*.jobs.yaml")}
    assert results == {path.stem for path in SOURCES}


@pytest.mark.parametrize("name", ["kueue", "kai"])
def test_the_teams_of_an_example_are_its_conversion(name: str) -> None:
    found = Stage().run("convert", "-f", str(EXAMPLES / "queues" / f"{name}.yaml"))
    assert found.code == 7, found.err
    assert found.out == (EXAMPLES / "queues" / f"{name}.teams.yaml").read_text()
