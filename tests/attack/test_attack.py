"""Promises that a user reads hold on a real control plane, whatever users do meanwhile."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.installation import install
from sandbox import NodeGroup, temporary_sandbox
from tests.attack.api import Api
from tests.attack.attack import attack

SEED = int(os.environ.get("EDL_ATTACK_SEED", "1"))
SECONDS = float(os.environ.get("EDL_ATTACK_SECONDS", "900"))


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[Api]:
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs a control plane of its own to disturb; EDL_KUBECONFIG={named}")
    with temporary_sandbox("attack", NodeGroup(count=12, cpu="8", memory="32Gi")) as sandbox:
        install(sandbox, tmp_path)
        yield Api(Path(sandbox.kubeconfig), tmp_path)


@pytest.mark.integration
@pytest.mark.long
def test_the_promises_hold_through_a_short_churn(attacked: Api) -> None:
    violations, judge = attack(attacked, seed=7, seconds=60)
    assert not violations, "\n".join(map(str, violations))
    assert len(judge.judged) >= 6, dict(judge.judged)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_the_promises_hold_through_a_long_churn(attacked: Api) -> None:
    violations, judge = attack(attacked, SEED, SECONDS)
    print(dict(judge.judged))  # noqa: T201 - what was judged is the result of a long run
    assert not violations, "\n".join(map(str, violations))
