from itertools import pairwise

import pytest

from benchmarks.experiments import mix as simulated
from benchmarks.experiments.mix import (
    CURVE,
    JOBS,
    SETTINGS,
    SIZES,
    Setting,
    alone,
    mix,
    simulate_mix,
)

pytestmark = pytest.mark.laws

ALL = pytest.mark.parametrize("setting", SETTINGS)


@ALL
def test_the_same_seed_is_the_same_mix(setting: Setting) -> None:
    assert mix(setting, 3) == mix(setting, 3) != mix(setting, 4)


@ALL
def test_a_mix_has_jobs_of_the_given_sizes_in_the_order_of_their_arrival(setting: Setting) -> None:
    jobs = mix(setting, 1)
    assert len(jobs) == JOBS
    assert {job.most for job in jobs} <= {size for size, _ in SIZES}
    assert all(before.at <= after.at for before, after in pairwise(jobs))


def test_more_crowded_settings_have_the_same_jobs() -> None:
    crowded = Setting(SETTINGS[0].gap / 4, SETTINGS[0].tail)
    pairs = zip(mix(SETTINGS[0], 1), mix(crowded, 1), strict=True)
    assert all(calm.work == dense.work and calm.most == dense.most for calm, dense in pairs)


def test_its_curve_is_below_linear() -> None:
    assert 6.5 < CURVE(8) < 6.7


def test_no_job_is_faster_than_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first forty, which share the cluster as all do."""
    monkeypatch.setattr(simulated, "JOBS", 40)
    found = simulate_mix("fair", 1)
    fastest = alone(SETTINGS[0], 1)
    later = [time - best for time, best in zip(found.completions, fastest, strict=True)]
    assert len(later) == 40
    assert min(later) >= -1
    assert max(later) > 60, "some wait for others"
