import json
from pathlib import Path

import pytest

from kubectl_edl.cli.terminal import knows_unicode
from kubectl_edl.output.printer import InvalidOutput, form
from kubectl_edl.output.safe_text import ascii_only, harmless
from tests.kubectl_edl.stage import Stage, event, job, mnist


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    stage.put(job("resnet", framework="none", min="1", max="4"))
    return stage


def test_custom_columns_are_kubectls(stage: Stage) -> None:
    columns = "NAME:.metadata.name,MAX:.roles[*].maxReplicas,NONE:.nothing,ROLE:{.roles[0].name}"
    found = stage.run("status", "-o", f"custom-columns={columns}")
    assert found.out == (
        "NAME     MAX      NONE     ROLE\n"
        "mnist    1,2,12   <none>   chief\n"
        "resnet   4        <none>   worker\n"
    )


def test_columns_and_templates_come_from_files_too(stage: Stage, tmp_path: Path) -> None:
    columns, template = tmp_path / "columns", tmp_path / "template"
    columns.write_text("NAME           PHASE\nmetadata.name  phase\n")
    template.write_text("{.items[*].phase}")
    assert stage.run("status", "-o", f"custom-columns-file={columns}").out.splitlines() == [
        "NAME     PHASE",
        "mnist    Running",
        "resnet   Queued",
    ]
    assert stage.run("status", "-o", f"jsonpath-file={template}").out == "Running Queued"


def test_a_template_gets_the_document_of_the_list_or_of_the_one(stage: Stage) -> None:
    assert stage.run("status", "-o", "jsonpath={.items[*].metadata.name}").out == "mnist resnet"
    assert stage.run("status", "mnist", "-o", "jsonpath={.phase}").out == "Running"
    found = stage.run("status", "-o", "jsonpath-as-json={.items[*].phase}").out
    assert json.loads(found) == ["Running", "Queued"]


@pytest.mark.parametrize(
    "command", ["status", "queue", "plan", "explain", "history", "events", "top"]
)
def test_every_list_command_takes_kubectls_output_formats(stage: Stage, command: str) -> None:
    name = ["mnist"] if command in ("explain", "history") else []
    found = stage.run(command, *name, "-o", "jsonpath={.apiVersion} {.kind}")
    assert found.code == 0, found.err
    whole = json.loads(stage.run(command, *name, "-o", "json").out)
    assert found.out == f"{whole['apiVersion']} {whole['kind']}"


@pytest.mark.parametrize(
    ("spelled", "problem"),
    [
        ("jsonp", '-o "jsonp": unknown; one of table, wide, json, yaml, name, custom-columns'),
        ("custom-columns=", "-o custom-columns: add =NAME:.metadata.name,PHASE:.phase"),
        ("custom-columns=NAME", '"NAME" is not TITLE:FIELD, such as NAME:.metadata.name'),
        ("custom-columns=A:{.a}{.b}", '"{.a}{.b}" is not a field'),
        ("jsonpath", "-o jsonpath: add ='{.items[*].metadata.name}'"),
        ("jsonpath={.a", 'a "{" is never closed'),
        ("jsonpath-file=/nowhere", "/nowhere: No such file or directory"),
    ],
)
def test_a_wrong_form_costs_no_request(spelled: str, problem: str) -> None:
    found = Stage().run("status", "-o", spelled)
    assert found.code == 2
    assert problem in found.err


def test_a_file_of_columns_needs_as_many_fields_as_titles(tmp_path: Path) -> None:
    file = tmp_path / "columns"
    file.write_text("NAME PHASE\nmetadata.name\n")
    with pytest.raises(InvalidOutput, match="2 titles and 1 fields"):
        form(f"custom-columns-file={file}")


def test_a_template_that_does_not_fit_the_document_is_an_error_in_one_line(stage: Stage) -> None:
    found = stage.run("status", "-o", "jsonpath={.items[7].phase}")
    assert (found.code, found.out) == (1, "")
    assert found.err == "error: -o: [7] is out of bounds: the list has 2\n"


def test_a_watch_prints_custom_columns_and_templates(stage: Stage) -> None:
    stage.between = [lambda: stage.put(job("a-longer-name", framework="none"))]
    out = stage.run("status", "-w", "-o", "custom-columns=NAME:.metadata.name,P:.phase").out
    assert out.splitlines() == [
        "NAME     P",
        "mnist    Running",
        "resnet   Queued",
        "a-longer-name   Queued",
    ]
    stage.between = [
        lambda: stage.delete("a-longer-name"),
        lambda: stage.put(job("new", framework="none")),
    ]
    out = stage.run("status", "-w", "-o", 'jsonpath={.metadata.name}{"\\n"}').out
    assert out.splitlines() == ["a-longer-name", "mnist", "resnet", "new"]


def test_headers_are_left_out_on_request(stage: Stage) -> None:
    assert stage.run("status", "--no-headers").out.splitlines()[0].split()[0] == "mnist"
    out = stage.run("status", "--no-headers", "-o", "custom-columns=N:.phase").out
    assert out == "Running\nQueued\n"


def test_colours_are_for_terminals_unless_requested(stage: Stage) -> None:
    assert "\x1b" not in stage.run("status").out
    assert "\x1b[32mRunning\x1b[0m" in stage.run("status", "--color", "always").out
    stage.coloured = True
    assert "\x1b[33mQueued\x1b[0m" in stage.run("status").out
    assert "\x1b" not in stage.run("status", "--color", "never").out
    assert "\x1b" not in stage.run("status", "-o", "json").out


def test_colours_do_not_move_columns(stage: Stage) -> None:
    plain = stage.run("status").out
    coloured = stage.run("status", "--color", "always").out
    for code in ("\x1b[32m", "\x1b[33m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_text_of_the_cluster_cannot_steer_a_terminal(stage: Stage) -> None:
    stage.create(event("mnist-worker", "Bad", "a\x1b[2Jb\x9bc\rd", minutes_ago=1))
    out = stage.run("events").out
    assert out.splitlines()[1].endswith("a^[[2Jb^[[c d")
    assert harmless("plain é") == "plain é"


def test_a_terminal_of_ascii_gets_ascii(stage: Stage) -> None:
    stage.unicode = False
    found = stage.run("status", "mnist")
    assert found.out.isascii()
    assert "`- worker                 1 Pending   ###:........ 4/1..12" in found.out
    assert ascii_only("1→2 … é") == "1->2 ... ?"


@pytest.mark.parametrize(
    ("environ", "knows"),
    [
        ({"LANG": "en_US.UTF-8"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ({"LC_CTYPE": "de_DE.utf8"}, True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, False),
        ({}, False),
    ],
)
def test_unicode_follows_the_locale(environ: dict[str, str], *, knows: bool) -> None:
    assert knows_unicode(environ) is knows
