"""Objects of other clients that have the names of a training job's dependents."""

from __future__ import annotations

import re
import urllib.request
from typing import TYPE_CHECKING

import pytest

from edl import contract
from edl.model import ObjectRef
from tests.integration.support.stage import elastic

if TYPE_CHECKING:
    from dev.installation import Installation
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration
ROUNDS, TRIES = 24, 8
"""A taken name is tried after 1, 3, 7, … 127 seconds: eight times in two minutes."""


class Counts:
    """Counters of the reconciler since this was made."""

    def __init__(self, installation: Installation) -> None:
        self._url = f"http://127.0.0.1:{installation.reconcilers['reconciler']}/metrics"
        self._before = self._read()

    def rounds(self) -> float:
        return self._since("edl_rounds_total")

    def created_budgets(self) -> float:
        return self._since(r'edl_writes_total\{kind="PodDisruptionBudget",[^}]*verb="create"\}')

    def _since(self, series: str) -> float:
        return _sum(series, self._read()) - _sum(series, self._before)

    def _read(self) -> str:
        with urllib.request.urlopen(self._url) as answer:  # noqa: S310 - of this machine
            return str(answer.read().decode())


def _sum(series: str, text: str) -> float:
    return sum(float(one) for one in re.findall(rf"^{series} (\S+)$", text, re.MULTILINE))


def test_a_taken_name_is_not_tried_in_each_round_and_stops_no_start(
    installation: Installation, installed: Stage
) -> None:
    taken = ObjectRef("PodDisruptionBudget", installed.namespace, "train-first-2")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    installed.api.create(taken, {"metadata": {"name": taken.name}, "spec": spec})
    bounds = {"framework": "pytorch", "min": "2", "max": "4"}
    jobs = [elastic(name, labels=bounds, parallelism=2) for name in ("train", "busy")]
    installed.apply(*jobs)
    installed.until_runs("train", 4)
    counts = Counts(installation)
    sizes = iter(range(ROUNDS * 100))

    def decided() -> bool:
        installed.annotate("busy", replicas=str(3 + next(sizes) % 2))
        return counts.rounds() >= ROUNDS

    installed.until(decided, "many rounds took place")
    assert counts.created_budgets() <= TRIES
    assert contract.JOB not in installed.api.get(taken)["metadata"].get("labels", {})
