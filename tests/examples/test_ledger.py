import json

import pytest

from tests.e2e.support import ledger

SIZES = ((1, 1), (2, 1), (3, 3), (4, 1))


def line(time: float, step: int, loss: float = 1.0, who: str = "a") -> str:
    fields = {"time": time, "who": who, "step": step, "samples": 32 * step, "loss": loss}
    return json.dumps(fields | {"world": 2}) + "\n"


def test_the_steps_of_all_processes_are_one_row_in_order_of_time() -> None:
    files = {"a-1.jsonl": line(10, 1) + line(12, 3), "b-1.jsonl": line(11, 2, who="b")}
    steps = ledger.read(files)
    assert [(step.step, step.who, step.file) for step in steps] == [
        (1, "a", "a-1.jsonl"),
        (2, "b", "b-1.jsonl"),
        (3, "a", "a-1.jsonl"),
    ]
    assert steps[2].samples == 96
    assert ledger.workers(steps) == {"a", "b"}


@pytest.mark.parametrize("torn", ['{"time": 1', line(11, 2).rstrip("\n")])
def test_an_unfinished_last_line_counts_as_no_step(torn: str) -> None:
    assert [step.step for step in ledger.read({"a": line(10, 1) + torn})] == [1]


def test_a_broken_line_in_the_middle_is_an_error() -> None:
    with pytest.raises(json.JSONDecodeError):
        ledger.read({"a": "{\n" + line(10, 1)})


def test_a_stall_is_the_longest_gap_that_touches_the_time_after_its_moment() -> None:
    steps = ledger.read({"a": "".join(line(t, t) for t in (0, 1, 4, 5, 6, 20, 21))})
    assert ledger.stalls(steps, around=[2.0, 5.5]) == [3.0, 14.0]
    assert ledger.stalls(steps, around=[5.5, 20.5]) == [14.0, 1.0]


def test_a_gap_that_begins_long_after_a_resize_is_not_its_stall() -> None:
    steps = ledger.read({"a": "".join(line(t, t) for t in range(41)) + line(99, 41)})
    assert ledger.stalls(steps, around=[5.0]) == [1.0]


def test_a_moment_outside_the_training_has_no_stall() -> None:
    assert ledger.stalls(ledger.read({"a": line(1, 1) + line(2, 2)}), around=[50.0]) == [0.0]
    assert ledger.stalls([], around=[50.0]) == [0.0]
    assert ledger.stalls([], around=[]) == []


def test_a_standstill_parts_the_steps_before_it_from_those_after_it() -> None:
    steps = ledger.read({"a": "".join(line(t, t) for t in (0, 50, 51, 53, 60, 61))})
    before, after = ledger.standstill(steps, moment=51.5)
    assert [step.step for step in before] == [0, 50, 51, 53]
    assert [step.step for step in after] == [60, 61]


def test_mean_losses_are_those_of_the_first_and_the_last_steps() -> None:
    steps = ledger.read({"a": "".join(line(t, t, loss=20 - t) for t in range(20))})
    assert ledger.mean_losses(steps) == (19.5, 1.5)
    assert ledger.mean_losses(steps[:1]) == (20.0, 20.0)


def test_repeated_and_absent_steps_are_found_across_ledgers() -> None:
    steps = ledger.read({"a": line(1, 1) + line(2, 2), "b": line(3, 2) + line(4, 5)})
    assert ledger.repeated(steps) == {2: 2}
    assert ledger.absent(steps, last=6) == [3, 4, 6]


def test_steps_are_made_again_only_as_far_as_a_setback_explains() -> None:
    lines = [line(1, 1), line(2, 2), line(3, 3), line(9, 2), line(10, 3), line(11, 4)]
    steps = ledger.read({"a": "".join(lines)})
    lost = ledger.setback(steps, moment=3.5)
    assert lost == ledger.Setback(saved=1, reached=3, moment=3.5)
    assert ledger.unexplained(steps, [lost]) == []
    assert ledger.unexplained(steps, []) == [2, 3]
    assert ledger.unexplained(steps, [ledger.Setback(2, 3, 3.5)]) == [2]


def test_each_world_is_named_once_for_as_long_as_it_lasted() -> None:
    texts = [line(at, at).replace('"world": 2', f'"world": {size}') for at, size in SIZES]
    assert ledger.worlds(ledger.read({"a": "".join(texts)})) == [1, 3, 1]
    assert ledger.worlds([]) == []
