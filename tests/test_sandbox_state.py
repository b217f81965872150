"""The sandbox's own tests are left out of `make test` only where nothing of theirs has changed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import sandbox_state
from tests.sandbox_state import ROOT

HOME = {"HOME": "/home/ann"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small checkout."""
    for name in (
        "sandbox/real/node.py",
        "tests/e2e/test_real_node.py",
        "edl/steps/host_lists.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(name)
    return tmp_path


@pytest.mark.parametrize("changed", ["sandbox/real/node.py", "tests/e2e/test_real_node.py"])
def test_a_changed_source_is_another_state(root: Path, changed: str) -> None:
    before = sandbox_state.passed(root, HOME)
    (root / changed).write_text("other")
    assert sandbox_state.passed(root, HOME) != before


def test_a_renamed_source_is_another_state(root: Path) -> None:
    before = sandbox_state.passed(root, HOME)
    (root / "sandbox/real/node.py").rename(root / "sandbox/real/nodes.py")
    assert sandbox_state.passed(root, HOME) != before


def test_another_cluster_is_another_state(root: Path, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("server: a")
    environ = HOME | {"EDL_KUBECONFIG": str(kubeconfig)}
    one = sandbox_state.passed(root, environ)
    kubeconfig.write_text("server: b")
    assert len({one, sandbox_state.passed(root, environ), sandbox_state.passed(root, HOME)}) == 3


def test_the_product_and_compiled_files_do_not_matter(root: Path) -> None:
    before = sandbox_state.passed(root, HOME)
    (root / "edl/steps/host_lists.py").write_text("other")
    (root / "sandbox/README.md").write_text("other")
    (root / "sandbox/__pycache__").mkdir()
    (root / "sandbox/__pycache__/node.pyc").write_text("other")
    assert sandbox_state.passed(root, HOME) == before
    assert before.parent == Path("/home/ann/.cache/kubectl-edl/passed")


def marked() -> set[Path]:
    mark = "pytest.mark." + "sandbox"
    return {path for path in (ROOT / "tests").rglob("*.py") if mark in path.read_text()}


def test_every_test_of_the_sandbox_alone_is_among_its_sources() -> None:
    assert len(marked()) == 7
    assert marked() <= set(sandbox_state.files(ROOT))


def imported(path: Path) -> Iterator[Path]:
    """The modules of tests/ and dev/ from which a module imports, or that it imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            of_it = [f"{node.module}.{one.name}" for one in node.names]
            names = [
                name for name in (f"{node.module}", *of_it) if name.startswith(("tests.", "dev."))
            ]
            found = (ROOT / f"{name.replace('.', '/')}.py" for name in names)
            yield from (module for module in found if module.is_file())


def test_what_they_import_is_among_its_sources_too() -> None:
    """But what a conftest.py imports for the fixtures of other tests."""
    known, found = set[Path](), marked()
    while new := found - known:
        known |= found
        found = {each for path in new if path.name != "conftest.py" for each in imported(path)}
    assert {path.name for path in known} >= {"busybox.py", "temporary_namespace.py"}
    assert known <= set(sandbox_state.files(ROOT))
