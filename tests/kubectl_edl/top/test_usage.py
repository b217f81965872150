"""A contradictory command line exits with 2, independent of the cluster."""

import pytest

from tests.kubectl_edl.stage import Stage, mnist

CREATE = ("create", "none", "ok")
WHAT_IF = ("simulate", "--live", "--add-nodes", "1")


@pytest.mark.parametrize(
    "command",
    [
        (*CREATE, "--workers", "1"),
        (*CREATE, "--image", "x", "--workers", "5..2"),
        (*CREATE, "--image", "x", "--workers", "1-5"),
        (*CREATE, "--image", "x", "--cpu", "2x"),
        (*CREATE, "--image", "x", "--set", "nonsense=1"),
        (*CREATE, "--image", "x", "--env", "nonsense"),
        ("create", "tensorflow", "ok", "--image", "x", "--workers", "2", "--ps", "1..3"),
        ("scale", "mnist", "--min", "5", "--max", "2"),
        ("simulate", "--live", "--set", "nonsense"),
        ("simulate", "--live", "--set", "job/mnist.max=many"),
        ("simulate", "--live", "--until", "soon"),
        ("simulate", "--live", "--plot", "day.txt"),
        (*WHAT_IF, "--like", "cpu=2x"),
        (*WHAT_IF, "--like", "cpu=-2"),
        ("adopt", "-f", "", "--framework", "none"),
    ],
    ids=" ".join,
)
def test_contradictory_options_are_a_usage_error(command: tuple[str, ...]) -> None:
    stage = Stage()
    mnist(stage)
    found = stage.run(*command)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("error: ")


@pytest.mark.parametrize(
    "command",
    [("scale", "mnist", "99"), ("scale", "mnist", "2", "--role", "ps"), ("pause", "broken")],
    ids=" ".join,
)
def test_a_refusal_by_the_cluster_is_not_a_usage_error(command: tuple[str, ...]) -> None:
    stage = Stage()
    mnist(stage)
    assert stage.run(*command).code in (1, 3)


@pytest.mark.parametrize("command", ["status", "pause", "delete"])
@pytest.mark.parametrize("text", ["a=b=c", "a in (b", "a,,b", "a=b,", "!", "a>x"])
def test_a_selector_that_makes_no_sense_is_wrong_usage(command: str, text: str) -> None:
    found = Stage().run(command, "-l", text)
    assert found.code == 2
    assert f'"{text}" is not a label selector; write team=vision, ' in found.err
