"""The reconciler's options about how is decided."""

from datetime import timedelta

import click
import pytest
from click.testing import CliRunner, Result

from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.published_settings import Settings
from reconciler.decision_options import planning_options


def run(*arguments: str) -> tuple[Result, list[Settings]]:
    found: list[Settings] = []

    @click.command()
    @planning_options
    def command(planning: Settings) -> None:
        found.append(planning)

    return CliRunner().invoke(command, arguments), found


def given(*arguments: str) -> Settings:
    result, found = run(*arguments)
    assert result.exit_code == 0, result.output
    return found[0]


def test_without_options_it_is_what_decide_does_by_itself() -> None:
    assert given() == Settings("fair", limits=Limits())
    assert given().policy_to_apply() == POLICIES["fair"]


def test_each_policy_has_its_own_numbers() -> None:
    found = given("--policy", "throughput").policy_to_apply()
    assert (found.reclaim_delay.seconds, found.quiet_period.seconds) == (30, 60)


def test_its_numbers_may_be_set_0_among_them() -> None:
    found = given("--policy", "throughput", "--patience", "0", "--idle", "90").policy_to_apply()
    assert (found.reclaim_delay, found.quiet_period) == (timedelta(), timedelta(seconds=90))


def test_weights_are_by_priority() -> None:
    found = given("--priority-weight", "1000=2", "--priority-weight", "-5=0.5")
    assert found.priority_weight == {"1000": 2.0, "-5": 0.5}


@pytest.mark.parametrize(("text", "weight"), [("0.3333333333333333", 1 / 3), ("1e-07", 1e-7)])
def test_weights_are_read_as_charts_write_them(text: str, weight: float) -> None:
    assert given("--priority-weight", f"1000={text}").priority_weight == {"1000": weight}


def test_weights_may_stand_in_a_variable() -> None:
    found: list[Settings] = []
    command = click.command(context_settings={"auto_envvar_prefix": "EDL"})(
        planning_options(lambda planning: found.extend([planning]))
    )
    environment = {"EDL_PRIORITY_WEIGHT": "1000=2 5000=4", "EDL_POLICY": "fifo"}
    assert CliRunner().invoke(command, env=environment).exit_code == 0
    assert (found[0].policy, found[0].priority_weight) == ("fifo", {"1000": 2.0, "5000": 4.0})


def test_preemption_is_switched_on_here() -> None:
    assert given("--preempt", "--nearly-done", "0.8").limits == Limits(
        preempt=True, nearly_done=0.8
    )


@pytest.mark.parametrize("text", ["0.0004", "1e-5", "1e3", "nan"])
def test_what_is_not_a_duration_is_refused_rather_than_rounded_to_never(text: str) -> None:
    result, found = run("--drain-patience", text)
    assert result.exit_code == 2
    assert f"'{text}' is not 0 or a duration from 0.001s to" in result.output
    assert not found
