import json
import re
from datetime import timedelta

import pytest
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from edl.planner.decision_limits import Autoscaler, Limits, Provisioner, ProvisionerSettings
from edl.planner.policies import POLICIES
from edl.planner.published_settings import Settings, read, render
from tests.edl.planner.states import at
from tests.edl.reached import Reached, drawn

ALL = Settings(
    policy="throughput",
    limits=Limits(
        load_ceiling=0.5,
        growth_cooldown=timedelta(seconds=2.5),
        preempt=True,
        autoscaler=Autoscaler.PRESENT,
        provisioning=ProvisionerSettings(
            Provisioner.REQUEST,
            "queued.example.com",
            "a=b,c=1",
            "example/pause:1",
            7,
            timedelta(minutes=3),
        ),
        drain_patience=timedelta(minutes=20),
        queueing_schedulers="gke.io/first-fit,my_scheduler",
    ),
    priority_weight={"1000": 2.0},
    patience=timedelta(seconds=7),
    ignored_namespaces=("argocd", "istio-system"),
)
_NAMES = st.sampled_from(["policy", "weights", "patience", "idle", "1", "x", *asdict(Limits())])


@pytest.mark.parametrize("settings", [Settings(), ALL])
def test_what_was_written_is_read(settings: Settings) -> None:
    assert read(render(settings)) == settings


def test_they_make_the_policy_that_decides() -> None:
    assert Settings().policy_to_apply() == POLICIES["fair"]
    assert ALL.policy_to_apply().reclaim_delay == timedelta(seconds=7)
    assert ALL.policy_to_apply().quiet_period == POLICIES["throughput"].quiet_period


def test_what_is_not_said_has_its_default() -> None:
    assert read("{}") == Settings()
    assert read('{"limits": {"load_ceiling": 1}}').limits == Limits(load_ceiling=1)


def test_what_only_a_newer_one_knows_is_named() -> None:
    found = read('{"policy": "fair", "mood": 1, "unknown": [2], "limits": {"charm": 2}}')
    assert found.unknown == ("charm", "mood", "unknown")
    assert found.limits == Limits()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"policy": "cruel"}', "policy: 'cruel'; allowed: fair, throughput"),
        (
            '{"limits": {"load_ceiling": 2}}',
            "load_ceiling: 2; allowed: a number above 0, at most 1",
        ),
        (
            '{"limits": {"nearly_done": 0}}',
            "nearly_done: 0; allowed: a number above 0, at most 100",
        ),
        ('{"limits": {"load_ceiling": "all"}}', "load_ceiling: 'all'; allowed: a number"),
        ('{"limits": {"gang_limit": true}}', "gang_limit: True; allowed: a number of seconds"),
        ('{"limits": {"preempt": 1}}', "preempt: 1; allowed: true or false"),
        (
            '{"ignoredNamespaces": "a"}',
            "ignoredNamespaces: 'a'; allowed: a value such as ['argocd']",
        ),
        ('{"limits": []}', "settings: Expected `object`, got `array`"),
        ("[]", "settings: Expected `object`, got `array`"),
        ("fair", "settings: "),
        ('{"policy": ["fair"]}', "policy: ['fair']; allowed: fair"),
        ('{"weights": {"1": []}}', "weights: {'1': []}; allowed: a value such as {'1000': 2}"),
        ('{"weights": {"1": null}}', "weights: {'1': None}; allowed"),
        ('{"weights": {"1": true}}', "weights: {'1': True}; allowed"),
        ('{"weights": {"1": "2"}}', "weights: {'1': '2'}; allowed"),
        ('{"weights": {"1": 1e999}}', "settings: Number out of range"),
        ('{"weights": {"1": 0}}', "weights: {'1': 0}; allowed"),
        ('{"weights": {"high": 2}}', "weights: {'high': 2}; allowed"),
        ('{"weights": {"99999999999": 2}}', "weights: {'99999999999': 2}; allowed"),
        ('{"limits": {"growth_cooldown": 1e999}}', "settings: Number out of range"),
        (
            '{"limits": {"queue_patience": 1e300}}',
            "queue_patience: 1e+300; allowed: a number of seconds",
        ),
        (
            '{"limits": {"gang_limit": -1}}',
            "gang_limit: -1; allowed: a number of seconds from 0 to",
        ),
        ('{"limits": {"nearly_done": NaN}}', "settings: JSON is malformed"),
        ('{"limits": {"load_ceiling": 1e999}}', "settings: Number out of range"),
        ('{"limits": {"autoscaler": "perhaps"}}', "autoscaler: 'perhaps'; allowed: detect, pres"),
        ('{"limits": {"autoscaler": 1}}', "autoscaler: 1; allowed: detect, present, none"),
        (
            '{"limits": {"provisioning_parallelism": 0}}',
            "provisioning_parallelism: 0; allowed: 1 to 1000",
        ),
        (
            '{"limits": {"queueing_schedulers": "a,"}}',
            "queueing_schedulers: 'a,'; allowed: a value",
        ),
        (
            '{"limits": {"provisioning_parallelism": 2.5}}',
            "provisioning_parallelism: 2.5; allowed: 1",
        ),
        ('{"limits": {"provisioner": "pods"}}', "provisioner: 'pods'; allowed: provisional-po"),
        (
            '{"limits": {"provisioning_class": "A b"}}',
            "provisioning_class: 'A b'; allowed: a value",
        ),
        (
            '{"limits": {"provisioning_parameters": "a"}}',
            "provisioning_parameters: 'a'; allowed: a value",
        ),
        ('{"limits": {"provisional_image": 1}}', "provisional_image: 1; allowed: a value such as"),
        (f'{{"limits": {{"provisional_image": "{"!" * 9000}"}}}}', "provisional_image: '!!!"),
        ('{"patience": 1e999}', "settings: Number out of range"),
        (f'{{"idle": 1{"0" * 400}}}', "idle: 1000"),
        (f'{{"limits": {{"nearly_done": 1{"0" * 400}}}}}', "nearly_done: 1000"),
        *((f'{{"idle": 1{"0" * digits}}}', "") for digits in (4298, 4299, 4300, 5000)),
        ("[" * 100_000, "settings: "),
        (f'{{"policy": {"[" * 900}{"]" * 900}}}', "policy: [[["),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(says)) as refused:
        read(text)
    assert len(str(refused.value)) < 200


_NUMBERS = st.integers(0, 100) | st.floats(0.01, 1)
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=5,
)
_SETTINGS = st.dictionaries(_NAMES, st.one_of(_NUMBERS, _NUMBERS, _JSON), max_size=1)


@pytest.mark.laws
@drawn(200, given=_SETTINGS, limits=_SETTINGS)
def test_whatever_is_read_can_decide_and_be_written_again(
    reached: Reached, given: dict[str, object], limits: dict[str, object]
) -> None:
    try:
        found = read(json.dumps(given | {"limits": limits}))
    except ValueError:
        reached(False)  # noqa: FBT003 - it was not
        return
    reached(found)
    longest = max(found.limits.queue_patience, found.policy_to_apply().reclaim_delay)
    assert at(0) + longest >= at(0) - longest
    assert read(render(found)) == replace(found, unknown=())


def test_people_read_the_policy_and_the_ceiling() -> None:
    assert str(Settings()) == "policy fair, load ceiling 97 %"
    assert str(ALL) == "policy throughput, weighted by priority, load ceiling 50 %, preempting"


def test_what_is_not_set_is_not_published() -> None:
    """An older plugin warns of each setting that it does not know."""
    assert json.loads(render(Settings())).keys() == {"policy", "limits"}
    assert json.loads(render(Settings(patience=timedelta())))["patience"] == 0
