"""What our processes log: one line a message, whatever is in it."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from edl.kube import process_logging


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, whose handlers and level come back after the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)


def logged(root: logging.Logger, form: str, message: str, **fields: object) -> str:
    stream = io.StringIO()
    process_logging.log_to(stream, "info", form)
    root.info(message, extra={"fields": fields})
    return stream.getvalue()


def test_a_log_line_is_one_json_object(root: logging.Logger) -> None:
    text = logged(root, "json", "scaled_up", job="web/train", sizes={"worker": 3})
    line = json.loads(text)
    assert (line["message"], line["level"], line["job"]) == ("scaled_up", "info", "web/train")
    assert line["sizes"] == {"worker": 3}
    assert line["time"].endswith("+00:00")


def test_for_people_fields_follow_the_words(root: logging.Logger) -> None:
    text = logged(root, "text", "scaled_up", job="web/train", after=3, reason="Scaled up: 3 fit")
    _, level, rest = text.split(" ", 2)
    assert (level, rest) == ("info", 'scaled_up job=web/train after=3 reason="Scaled up: 3 fit"\n')


@pytest.mark.parametrize("form", process_logging.FORMATS)
@pytest.mark.parametrize("text", ["two\nlines", 'a "quote"', "", "\x1b[31mred", "a=b"])
def test_nothing_that_is_logged_breaks_its_line_or_forges_a_field(
    root: logging.Logger, form: str, text: str
) -> None:
    line = logged(root, form, "refused", reason=text)
    assert line.count("\n") == 1
    assert "\x1b" not in line
    said = (
        json.loads(line)["reason"] if form == "json" else json.loads(line.partition("reason=")[2])
    )
    assert said == text


def test_a_traceback_stays_on_its_line(root: logging.Logger) -> None:
    stream = io.StringIO()
    process_logging.log_to(stream, "info")
    root.error("failed", exc_info=ZeroDivisionError("a bug"))
    assert stream.getvalue().count("\n") == 1
    assert "ZeroDivisionError: a bug" in json.loads(stream.getvalue())["traceback"]


def test_a_crash_of_the_interpreter_leaves_the_stacks_of_its_threads() -> None:
    crash = (
        "import os, signal; from edl.kube import process_logging as log;"
        "log.log_to_stderr('info', 'json'); os.kill(os.getpid(), signal.SIGSEGV)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", crash], capture_output=True, text=True, check=False
    )
    assert "Segmentation fault" in ended.stderr
    assert 'File "<string>", line 1' in ended.stderr
