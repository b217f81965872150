from datetime import timedelta

from kubectl_edl.dashboard.page_state import SPACING, Sample, Samples
from tests.kubectl_edl.stage import NOW


def sample(seconds: float) -> Sample:
    return Sample(NOW + timedelta(seconds=seconds), (("CPU", 50),), 1, 0)


def test_samples_have_a_minimum_spacing() -> None:
    samples = Samples()
    for second in range(30):
        samples.put(sample(second))
    assert [one.at - NOW for one in samples.values()] == [SPACING * number for number in range(3)]


def test_the_oldest_are_forgotten() -> None:
    samples = Samples(most=3)
    for number in range(10):
        samples.put(sample(number * SPACING.total_seconds()))
    assert [one.at for one in samples.values()] == [NOW + SPACING * number for number in (7, 8, 9)]
