from datetime import timedelta

import pytest

from edl.planner.limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.settings import Settings, read, render

ALL = Settings(
    policy="throughput",
    limits=Limits(load_ceiling=0.5, growth_cooldown=timedelta(seconds=2.5), preempt=True),
    weights=((1000, 2.0),),
    waits=(("patience", timedelta(seconds=7)),),
)


@pytest.mark.parametrize("settings", [Settings(), ALL])
def test_what_was_written_is_read(settings: Settings) -> None:
    assert read(render(settings)) == settings


def test_they_make_the_policy_that_decides() -> None:
    assert Settings().value() == POLICIES["fair"]
    assert ALL.value().patience == timedelta(seconds=7)
    assert ALL.value().idle == POLICIES["throughput"].idle


def test_what_is_not_said_has_its_default() -> None:
    assert read("{}") == Settings()
    assert read('{"limits": {"load_ceiling": 1}}').limits == Limits(load_ceiling=1)


def test_what_only_a_newer_one_knows_is_named() -> None:
    found = read('{"policy": "fair", "mood": 1, "limits": {"charm": 2}}')
    assert found.unknown == ("charm", "mood")
    assert found.limits == Limits()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"policy": "cruel"}', 'policy: unknown "cruel"; one of fair, throughput'),
        ('{"limits": {"load_ceiling": 2}}', "load_ceiling: 2; a number above 0, at most 1"),
        ('{"limits": {"load_ceiling": "all"}}', "load_ceiling: 'all'; a number"),
        ('{"limits": {"gang_limit": true}}', "gang_limit: True; a number of seconds"),
        ('{"limits": {"preempt": 1}}', "preempt: 1; true or false"),
        ('{"limits": []}', "limits: []; an object"),
        ("[]", "settings: []; an object"),
        ("fair", "Expecting value"),
    ],
)
def test_what_cannot_be_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="^" + says.replace("[]", r"\[\]")):
        read(text)


def test_people_read_the_policy_and_the_ceiling() -> None:
    assert str(Settings()) == "policy fair, load ceiling 97 %"
    assert str(ALL) == "policy throughput, weighted by priority, load ceiling 50 %, preempting"
