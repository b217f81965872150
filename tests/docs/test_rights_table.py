"""The page about security tells of every right that the manifests give, and of no other."""

import re
from pathlib import Path

import pytest

from manifests import installation, render
from manifests.values import Values
from tests.integration.support.rights import OF_RECONCILER, grants

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations" / "security.md").read_text()
ROLES = (
    *OF_RECONCILER,
    *("edl-reconciler-certificates", "edl-reconciler-settings"),
    *("edl-webhook", "edl-launcher", "edl-peers", "edl-viewer", "edl-editor"),
)
INSTALLED = installation.documents(Values(settings_readers=("research",)))
"""With every role that an installation may have."""
NAMED = {
    *("edl-launcher", "edl-reconciler", "edl-webhook-authority", "edl-webhook-tls", "edl"),
    *("edl-queue", "edl-teams", "edl-teams-applied"),
}
"""Names of single objects, beside the kinds."""


def told(role: str) -> set[str]:
    """`verb resource` and, where there is one, the object's name."""
    section = PAGE.partition(f"\n### {role}\n")[2].partition("\n##")[0]
    found = set()
    for verbs, things in re.findall(r"^\| (`.+?) \| (`.+?) \|", section, re.MULTILINE):
        words = re.findall(r"`([^`]+)`", things)
        name = "".join(word for word in words if word in NAMED)
        kinds = [word for word in words if word not in NAMED]
        found |= {
            " ".join(filter(None, (verb, kind, name)))
            for verb in re.findall(r"`([^`]+)`", verbs)
            for kind in kinds
        }
    return found


@pytest.mark.parametrize("role", ROLES)
def test_every_right_stands_in_the_table_with_its_reason(role: str) -> None:
    given = grants(INSTALLED, role)
    assert given
    assert told(role) == {
        " ".join(filter(None, (grant.verb, grant.resource, grant.name))) for grant in given
    }


def test_every_role_is_told_of() -> None:
    kinds = ("Role", "ClusterRole")
    found = {each["metadata"]["name"] for each in INSTALLED if each["kind"] in kinds}
    assert found == set(ROLES)


def test_the_threat_model_names_all_that_the_reconciler_creates_in_any_namespace() -> None:
    """Each is a way in for the holder of a stolen token."""
    text = (ROOT / "SECURITY.md").read_text().partition("In every namespace it creates ")[2]
    given = grants(render.load(), *OF_RECONCILER)
    assert re.findall(r"`(\w+)`", text.partition(".")[0]) == sorted(
        grant.resource for grant in given if grant.verb == "create" and grant.kind == "ClusterRole"
    )


def test_every_test_that_the_threat_model_names_exists_and_runs_something() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    named = set(re.findall(r"`(tests/[^`]+)`", text))
    assert len(named) > 10
    assert [path for path in sorted(named) if not _tests(ROOT / path)] == []
    rows = re.findall(r"^\| to .+ \| .+ \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) > 10
    assert all("`tests/" in shown for shown in rows), "every row names its tests"
    parts = re.findall(r"`(manifests/components/[^`]+)`", text + PAGE)
    assert all((ROOT / part / "kustomization.yaml").exists() for part in parts)


def _tests(path: Path) -> int:
    """How many tests there are in this file, or folder; generated reviews are run by a module."""
    files = path.rglob("*.py") if path.is_dir() else [path]
    texts = [one.read_text() for one in files if one.exists()]
    return sum(len(re.findall(r"^def (?:test_|main\b)", text, re.MULTILINE)) for text in texts)
