"""Reasons are codes; their sentences are made at the edge, and never read again."""

import ast
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dev.reference.reason_codes import TABLES
from edl import messages, reasons
from edl.annotations.job_history import OperationPhase
from edl.annotations.json_text import json_text
from edl.annotations.last_change import read_reason
from edl.model import Code, JobKey, Reason, Restart
from edl.model.causes.blockers import Blocker, JobCondition, SizeBound
from edl.model.causes.reason_codes import code_of
from edl.model.causes.reason_subjects import About, Attempt, Minimum
from edl.model.causes.scarcity import NodeRule, Scarce

ROOT = Path(__file__).parents[2]
PACKAGES = ("edl", "reconciler", "kubectl_edl", "webhook", "certs")

_TEXTS = some.text(max_size=20)


def test_every_code_is_camel_case_and_explained() -> None:
    told = {code for _, meanings in TABLES for code in meanings}
    enums = (Code, NodeRule, SizeBound, JobCondition, OperationPhase)
    codes = {code for enum in enums for code in enum} | {Scarce.RULES, Scarce.PORTS, Scarce.DEVICES}
    codes |= {blocker.__name__ for blocker in get_args(Blocker)}
    assert told == codes
    assert all(code.isalnum() and code[0].isupper() for code in codes)


@given(
    some.sampled_from(Code),
    some.builds(Minimum, some.builds(JobKey, _TEXTS, _TEXTS)),
    some.sampled_from(Restart),
)
def test_what_is_remembered_is_read_again(code: Code, about: Minimum, restart: Restart) -> None:
    reason = Reason(code, about, restart)
    assert read_reason(json_text(reason)) == reason


STORED = {
    "TrainingJob": ("job", "failure", "guaranteed"),
    "Minimum": ("job", "own"),
    "ForeignJob": ("uid", "team", "minimum", "guaranteed"),
    "PendingPods": ("example", "priority"),
    "Pods": ("count", "manual"),
    "LostPods": ("count", "of", "seconds", "confined", "extras"),
    "Awaiting": ("pods", "givers"),
    "PodsOf": ("jobs", "others"),
    "PodNames": ("names",),
    "Roles": ("names",),
    "Size": ("size", "max"),
    "FixedSize": ("role", "size"),
    "Growth": ("wanted", "before", "timeout_seconds", "held"),
    "OffNodes": ("pods", "nodes", "taints"),
    "SplitDomains": ("label", "domains", "outside"),
    "Load": ("share", "resource"),
    "Period": ("seconds",),
    "Usage": ("budget", "needs", "used", "more"),
    "AboveBudget": ("budget",),
    "Shortage": ("needs", "fitting", "lack", "domains"),
    "NoRoom": ("requests", "lack", "domains"),
    "NoEligibleNode": ("rule", "selector", "needs", "taints", "large_nodes", "names", "affinity"),
    "UnplacedMinimum": ("lacks", "domains", "seconds"),
    "NodePoolLimit": ("resource", "needs", "add"),
    "Attempt": ("what", "scheduler", "refusal"),
    "NodesAsked": ("pods", "message", "unlabelled"),
    "QuotedText": ("text",),
}


@pytest.mark.parametrize(
    "text", ["", "idle capacity", "{}", "[" * 5_000, '{"code":"Odd"}', '{"code":1}']
)
def test_a_foreign_text_is_rejected_as_a_reason(text: str) -> None:
    assert read_reason(text) is None
    assert code_of(text) is None


def test_reasons_are_made_in_one_module() -> None:
    """So that each code keeps to its subjects."""
    makers = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "Reason" in (source := path.read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Reason"
    }
    assert makers == {"edl/reasons.py"}


def test_constants_have_the_names_of_their_codes() -> None:
    """A constant that has the name of another code would be read as that one."""
    constants = {name: found for name, found in vars(reasons).items() if isinstance(found, Reason)}
    expected = {
        name: "_".join([found.code.name, *([found.about.what.name] if found.about else ())])
        for name, found in constants.items()
        if found.about is None or isinstance(found.about, Attempt)
    }
    assert len(constants) > 30
    assert {name: name for name in expected} == expected


def test_a_restart_says_how_far_it_has_come() -> None:
    paused = Reason(Code.MANUAL_SIZE)
    said = [messages.message(Reason(paused.code, restart=restart)) for restart in Restart]
    assert said == ["manual size", "restarts: manual size", "restarted: manual size"]


def test_the_forms_in_which_reasons_are_stored_are_those_that_older_releases_read() -> None:
    """A renamed struct or field would lose what annotations of running Jobs say."""
    forms = {
        str(kind.__struct_config__.tag): kind.__struct_encode_fields__ for kind in get_args(About)
    }
    assert forms == STORED
