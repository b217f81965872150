from dataclasses import replace

import pytest

from edl.errors import Unreachable
from kubectl_edl.cli.completion_main import answer
from kubectl_edl.cli.context import ClusterConnection, Scope
from kubectl_edl.cli.root import COMMANDS
from tests.kubectl_edl.stage import Stage, job, mnist


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    stage.create(job("plain"))
    other = job("bert", framework="none")
    other["metadata"]["namespace"] = "team"
    stage.put(other)
    for name in ("default", "team"):
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        stage.create(manifest)
    return stage


def completed(stage: Stage, *words: str) -> list[str]:
    """The candidates without descriptions, and the directive last."""
    return [line.partition("\t")[0] for line in answer(words, stage.cli()).splitlines()]


def test_the_first_word_is_a_command_with_its_description(stage: Stage) -> None:
    lines = answer([""], stage.cli()).splitlines()
    assert lines == [*(f"{name}\t{line}" for name, line in COMMANDS.items()), ":4"]


def test_command_completion_filters_by_prefix(stage: Stage) -> None:
    assert completed(stage, "s") == ["status", "simulate", "scale", ":4"]
    assert completed(stage) == [*COMMANDS, ":4"]


@pytest.mark.parametrize("command", ["status", "scale", "pause", "resume"])
def test_job_names_of_the_namespace_are_completed(stage: Stage, command: str) -> None:
    assert completed(stage, command, "") == ["mnist", ":4"]
    assert completed(stage, command, "-n", "team", "") == ["bert", ":4"]
    assert completed(stage, "-n", "team", command, "") == ["bert", ":4"]
    assert completed(stage, command, "x") == [":4"]


def test_label_offers_the_jobs_that_are_not_elastic_yet(stage: Stage) -> None:
    assert completed(stage, "adopt", "p") == ["plain", ":4"]


def test_namespaces_are_offered(stage: Stage) -> None:
    assert completed(stage, "status", "-n", "") == ["default", "team", ":4"]
    assert completed(stage, "status", "--namespace", "t") == ["team", ":4"]


def test_flags_and_their_values_are_offered(stage: Stage) -> None:
    assert completed(stage, "scale", "mnist", "--dry") == ["--dry-run", ":4"]
    assert completed(stage, "scale", "mnist", "--role", "") == ["chief", "ps", "worker", ":4"]
    assert completed(stage, "status", "-o", "y") == ["yaml", ":4"]
    assert completed(stage, "status", "-o", "jsonpath=") == ["jsonpath=", ":4"]
    assert completed(stage, "adopt", "--framework", "t") == ["tensorflow", ":4"]


def test_a_file_name_is_the_shells_own_business(stage: Stage) -> None:
    assert completed(stage, "adopt", "-f", "") == [":0"]


def test_a_cluster_that_does_not_answer_completes_to_nothing() -> None:
    def unreachable(_: Scope) -> ClusterConnection:
        raise Unreachable("no answer")

    cli = replace(Stage().cli(), connect=unreachable)
    assert answer(["status", ""], cli) == ":4\n"


@pytest.mark.parametrize("words", [["st", ""], ["-n", "team", "st", ""], ["certs", "bogus", "-"]])
def test_after_a_command_that_does_not_exist_nothing_is_offered(
    stage: Stage, words: list[str]
) -> None:
    assert completed(stage, *words) == [":4"]


def test_for_completes_phases_and_reason_codes(stage: Stage) -> None:
    assert completed(stage, "status", "--for", "S") == ["starting", "scaling", "succeeded", ":4"]
    codes = ["reason=QuotaExceeded", "reason=QueueOrder", ":4"]
    assert completed(stage, "status", "--for", "reason=Qu") == codes
    assert "reason=Cooldown" in completed(stage, "status", "--for", "reason=")
