import subprocess
from pathlib import Path

import pytest

from benchmarks.report import circumstances
from benchmarks.report.circumstances import changed, commit

AUTHOR = ("-c", "user.name=test", "-c", "user.email=test@example.com")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "benchmarks" / "experiments").mkdir(parents=True)
    git(tmp_path, "init", "-q")
    write(tmp_path, "code.py", "1")
    write(tmp_path, "benchmarks/README.md", "old")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "code")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    command = ["git", *AUTHOR, *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_code_that_differs_is_named_also_if_it_is_new(checkout: Path) -> None:
    assert changed(checkout) == []
    write(checkout, "code.py", "2")
    write(checkout, "new.py", "3")
    assert changed(checkout) == [" M code.py", "?? new.py"]
    assert commit(checkout).endswith("+")


def test_a_change_of_figures_does_not_count_as_a_change_of_the_code(checkout: Path) -> None:
    of_code = commit(checkout)
    write(checkout, "benchmarks/README.md", "new")
    write(checkout, "benchmarks/experiments/results/T1-replay-with-1.json", "{}")
    assert (changed(checkout), commit(checkout)) == ([], of_code)
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "figures")
    assert git(checkout, "rev-parse", "--short", "HEAD") != of_code
    assert commit(checkout) == of_code


def test_a_machine_names_its_processor_and_the_versions_that_count() -> None:
    text = circumstances.machine()
    for part in ("cores of", "GiB", "Python 3.", "Kubernetes 1.", "Kueue 0."):
        assert part in text
