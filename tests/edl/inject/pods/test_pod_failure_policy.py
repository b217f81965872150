"""`edl.dev/restart`, in the Job's own fields."""

from collections.abc import Mapping
from typing import Any

import pytest

from edl.errors import Denied, Finding
from edl.writes import Json
from tests.edl.manifests import created, job

DISRUPTED = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}


def spec(restart: str | None = None, policy: str | None = None, **fields: Any) -> Json:  # noqa: ANN401
    pod: Json = {"containers": [{"name": "main", "image": "busybox"}]}
    pod |= {"restartPolicy": policy} if policy else {}
    manifest = job(
        framework="tensorflow",
        max="4",
        annotations={"restart": restart} if restart else {},
        spec={"template": {"spec": pod}} | fields,
    )
    once = created(manifest)
    assert created(once) == once
    found: Json = once["spec"]
    return found


def pod_policy(found: Mapping[str, Any]) -> str:
    policy: str = found["template"]["spec"]["restartPolicy"]
    return policy


@pytest.mark.parametrize("restart", ["Always", "OnFailure"])
@pytest.mark.parametrize("policy", [None, "Always", "OnFailure"])
def test_always_and_on_failure_restart_in_place(restart: str, policy: str | None) -> None:
    found = spec(restart, policy)
    assert (pod_policy(found), found["backoffLimit"]) == ("OnFailure", 24)
    assert "podFailurePolicy" not in found


def test_never_fails_the_job_but_for_disruptions() -> None:
    found = spec("Never")
    assert (pod_policy(found), found["backoffLimit"]) == ("Never", 0)
    assert found["podFailurePolicy"] == {"rules": [DISRUPTED]}
    assert found["podReplacementPolicy"] == "Failed", "the API server asks for it"


def test_exit_codes_below_128_are_permanent() -> None:
    """tf-operator, train_util.IsRetryableExitCode."""
    found = spec("ExitCode", "Never")
    ignore, fail = found["podFailurePolicy"]["rules"]
    assert ignore == DISRUPTED
    assert fail["action"] == "FailJob"
    assert fail["onExitCodes"]["operator"] == "In"
    assert fail["onExitCodes"]["values"] == list(range(1, 128))
    assert found["backoffLimit"] == 24


def test_the_users_own_rules_and_limit_stay() -> None:
    own = {"rules": [{"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}}]}
    found = spec("ExitCode", podFailurePolicy=own, backoffLimit=2)
    assert (found["podFailurePolicy"], found["backoffLimit"]) == (own, 2)


def test_without_it_the_job_speaks_for_itself() -> None:
    found = spec(None, "OnFailure")
    assert (pod_policy(found), found["backoffLimit"]) == ("OnFailure", 24)


@pytest.mark.parametrize(
    ("restart", "policy", "wanted"),
    [("ExitCode", "OnFailure", "Never"), ("Always", "Never", "OnFailure")],
)
def test_two_words_that_contradict_each_other_are_refused(
    restart: str, policy: str, wanted: str
) -> None:
    with pytest.raises(Denied) as denied:
        spec(restart, policy)
    assert denied.value.findings == (
        Finding(
            "spec.template.spec.restartPolicy",
            f'"{policy}" with edl.dev/restart: {restart}',
            f"leave it out, or {wanted}",
        ),
    )


def test_an_unknown_word_is_told_the_known_ones() -> None:
    with pytest.raises(Denied) as denied:
        spec("Sometimes")
    (finding,) = denied.value.findings
    assert finding.allowed == "one of Always, OnFailure, Never, ExitCode"
