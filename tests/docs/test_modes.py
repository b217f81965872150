"""docs/reference/frameworks.md names the modes that no test trains with."""

import re
from collections.abc import Iterable
from pathlib import Path

import yaml

from edl import contract
from edl.frameworks import FRAMEWORKS
from edl.parsing.parser import parse
from edl.writes import Json
from tests.golden.cases import goldens

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "frameworks.md").read_text()
EVERY = {(name, mode.name) for name, each in FRAMEWORKS.items() for mode in each.modes}
BY_SSH = ("horovod", "ssh")
"""Horovod's example, written anew by its test (tests/e2e/test_horovod_life.py)."""


def examples() -> Iterable[Json]:
    """What tests/e2e trains."""
    for path in sorted(ROOT.glob("examples/*/*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            labels = ((document or {}).get("metadata") or {}).get("labels") or {}
            if path.parent.name in FRAMEWORKS and contract.FRAMEWORK in labels:
                yield document


def modes(manifests: Iterable[Json]) -> set[tuple[str, str]]:
    specs = [parse(manifest) for manifest in manifests]
    return {(spec.framework, spec.mode) for spec in specs}


def told() -> set[tuple[str, str]]:
    """The modes of the paragraph about those that nothing trains with."""
    paragraph = PAGE.partition("**Modes that no test trains with**")[2].partition("\n\n")[0]
    named = re.findall(r"`(\w+)` \(((?:`\w+`(?:, )?)+)\)", paragraph)
    return {(name, mode) for name, words in named for mode in re.findall(r"`(\w+)`", words)}


def test_the_page_names_every_mode_that_no_test_trains_with() -> None:
    assert told() == EVERY - modes(examples()) - {BY_SSH}


def test_every_mode_has_a_golden_environment() -> None:
    assert modes(case.given for case in goldens()) == EVERY
