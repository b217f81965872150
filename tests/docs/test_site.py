"""The documentation: it builds, and what it quotes is what users read."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from docs import hooks
from edl.messages import code_texts
from kubectl_edl.cli import command_errors

ROOT: Final = Path(__file__).parents[2]
TUTORIALS: Final = sorted(
    path
    for path in (ROOT / "docs/tutorials").glob("*.md")
    if (ROOT / "examples" / path.stem).is_dir()
)
OTHERS: Final = (  # the API server's, kubectl's and the kubelet's own words
    'failed calling webhook "jobs.edl.dev"',
    "connection refused",
    "no endpoints",
    "context deadline exceeded",
    "x509: certificate signed by unknown authority",
    "ImagePullBackOff",
    'conflict with "kubectl-edl" using batch/v1: .spec.parallelism',
    "using batch/v1",
    'conflict with "kubectl-edl" using batch/v1',
    "startTime is required for finished job",
    'unknown command "edl" for "kubectl"',
)
FRAGMENT: Final = 8
"""Shorter pieces of a message are found anywhere."""
PLACES: Final = r"…|namespace|\d+|[A-Z]{2,}|\"[a-z]+\"|, |: |\bedl\.dev/[a-z-]+"
"""What stands for something else in a message that is quoted."""


def quoted() -> list[str]:
    """Messages in the first column of the tables of troubleshooting."""
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    cells = re.findall(r"^\| (.+?) \|", page, re.MULTILINE)
    return [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]


def test_troubleshooting_explains_every_attempt_that_came_to_nothing() -> None:
    texts = code_texts.ATTEMPTS.values()
    assert [text for text in texts if not any(text in one for one in quoted())] == []


@pytest.fixture(scope="module")
def sources() -> str:
    """All that we can say, as one text; figures and names in it are a figure's place."""
    folders = ("edl", "webhook", "reconciler", "kubectl_edl", "certs")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    files.append(ROOT / "manifests" / "base" / "fence.yaml")
    return re.sub(r'"\n\s*f?"', "", "\n".join(path.read_text() for path in files))


def in_order(message: str) -> str:
    """A pattern of a message of short pieces: all of them, as the beginning of a text if alone."""
    pieces = message.split("…")
    return r"\S.{0,60}?".join(map(re.escape, pieces)) if pieces[1:] else f'"{re.escape(message)}'


@pytest.mark.parametrize("message", quoted())
def test_a_message_that_is_explained_can_come(message: str, sources: str) -> None:
    pieces = [piece.strip() for piece in re.split(PLACES, message)]
    known = [piece for piece in pieces if len(piece) >= FRAGMENT]
    assert known or re.search(in_order(message), sources), "it stands nowhere as a whole"
    missing = [
        piece for piece in known if piece not in sources and not any(piece in o for o in OTHERS)
    ]
    assert missing == []


@pytest.mark.laws
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "labels" / "index.html").is_file()


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        *((f"tutorials/{path.name}", f"examples/{path.stem}") for path in TUTORIALS),
        ("contributing/architecture.md", "ARCHITECTURE.md"),
        ("contributing/index.md", "CONTRIBUTING.md"),
        ("operations/security.md", "SECURITY.md"),
    ],
)
def test_a_page_that_includes_a_document_links_it_for_readers_of_the_clone(
    page: str, shown: str
) -> None:
    """And the site has the document instead of the link."""
    text = (ROOT / "docs" / page).read_text()
    link = f"[{shown}](../../{shown})"
    assert link in text
    built = hooks.on_page_markdown(text, SimpleNamespace(file=SimpleNamespace(src_uri=page)))
    assert link not in built
    assert len(built) > len(text)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_job_is_the_example_as_it_is(page: str) -> None:
    example = (ROOT / "examples/none/job.yaml").read_text()
    shown = (ROOT / page).read_text().partition("```yaml\n")[2].partition("```")[0]
    assert shown == re.sub(r"^#.*\n", "", example, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "page", ["quickstart.md", "operations/install.md", "operations/security.md"]
)
def test_a_page_on_the_way_to_an_installation_reads_the_same_on_github(page: str) -> None:
    """There tabs and included files are raw text."""
    text = (ROOT / "docs" / page).read_text()
    assert re.findall(r"^=== |--8<--", text, re.MULTILINE) == []


def test_readme_fits_on_a_few_screens() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("cli.md", "kubectl edl COMMAND --help"),
        ("flags.md", "python -m reconciler --help"),
        ("flags.md", "python -m webhook --help"),
    ],
)
def test_a_list_that_only_the_site_has_is_named_as_a_command(page: str, command: str) -> None:
    assert f"`{command}`" in (ROOT / "docs" / "reference" / page).read_text()


def test_the_reference_shows_the_exit_codes_as_they_are() -> None:
    table = [line for line in (command_errors.__doc__ or "").splitlines() if line.startswith("| ")]
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert [line for line in table[1:] if line not in page] == []
