from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.images import context

if TYPE_CHECKING:
    from pathlib import Path

OURS = """
# only what the Dockerfile copies
*
!edl
!sandbox/controlplane/go.mod
**/__pycache__
"""


def put(folder: Path, path: str, text: str = "") -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("README.md", True),
        ("edl", False),
        ("edl/contract/__init__.py", False),
        ("edl/kube/writer/executor.py", False),
        ("edl/kube/__pycache__/act.pyc", True),
        ("sandbox/cli.py", True),
        ("sandbox/controlplane/go.mod", False),
        ("edlx", True),
    ],
)
def test_the_last_rule_that_matches_decides(path: str, ignored: bool) -> None:  # noqa: FBT001
    assert context.ignores(context.rules(OURS), path) == ignored


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.md", "README.md", True),
        ("*.md", "docs/README.md", False),
        ("**/*.md", "docs/deep/README.md", True),
        ("**/*.md", "README.md", True),
        ("docs/**", "docs/deep/README.md", True),
        ("/docs/", "docs/README.md", True),
        ("./docs", "docs", True),
        ("jo?.yaml", "job.yaml", True),
        ("jo?.yaml", "jo/.yaml", False),
        ("job[12].yaml", "job2.yaml", True),
        ("a.b", "axb", False),
    ],
)
def test_patterns_are_those_of_docker(pattern: str, path: str, matches: bool) -> None:  # noqa: FBT001
    assert context.ignores(context.rules(pattern), path) == matches


def test_without_an_ignore_file_everything_counts(tmp_path: Path) -> None:
    for path in ("Dockerfile", "train.py", "data/digits.csv"):
        put(tmp_path, path)
    assert list(context.files(tmp_path)) == ["Dockerfile", "data/digits.csv", "train.py"]


def test_the_recipe_counts_whatever_is_ignored(tmp_path: Path) -> None:
    for path in ("Dockerfile", "train.py", "notes.txt"):
        put(tmp_path, path)
    put(tmp_path, ".dockerignore", "*\n!train.py\n")
    assert list(context.files(tmp_path)) == [".dockerignore", "Dockerfile", "train.py"]


def test_ignored_folders_are_not_searched_unless_a_rule_may_keep_some_of_them(
    tmp_path: Path,
) -> None:
    put(tmp_path, "sandbox/controlplane/go.mod")
    put(tmp_path, "sandbox/cli.py")
    put(tmp_path, ".dockerignore", OURS)
    assert list(context.files(tmp_path)) == [".dockerignore", "sandbox/controlplane/go.mod"]


def test_the_digest_changes_with_path_content_and_execute_bit(tmp_path: Path) -> None:
    script = put(tmp_path, "train.py", "print(1)")
    seen = [context.digest(tmp_path)]
    script.write_text("print(2)")
    seen.append(context.digest(tmp_path))
    script.chmod(0o755)
    seen.append(context.digest(tmp_path))
    script.rename(tmp_path / "learn.py")
    seen.append(context.digest(tmp_path))
    (tmp_path / "link").symlink_to("learn.py")
    seen.append(context.digest(tmp_path))
    assert len(set(seen)) == len(seen)
    assert context.digest(tmp_path) == seen[-1]


def test_what_is_ignored_does_not_change_the_digest(tmp_path: Path) -> None:
    put(tmp_path, ".dockerignore", "README.md")
    put(tmp_path, "train.py")
    before = context.digest(tmp_path)
    put(tmp_path, "README.md", "how to")
    assert context.digest(tmp_path) == before
