from edl.writes import Json
from kubectl_edl.dashboard.page_state import MAX_SAMPLES, SPACING, recorded


def samples(seconds: range) -> list[int]:
    kept = tuple[Json, ...]()
    for second in seconds:
        kept = recorded(kept, {"at": second})
    return [one["at"] for one in kept]


def test_samples_have_a_minimum_spacing() -> None:
    assert samples(range(30)) == [0, SPACING, 2 * SPACING]


def test_the_oldest_are_forgotten() -> None:
    found = samples(range(0, (MAX_SAMPLES + 5) * SPACING, SPACING))
    assert found == [SPACING * number for number in range(5, MAX_SAMPLES + 5)]
