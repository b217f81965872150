"""What changes in a document is written into its text; all else stays, comments included."""

import copy
import re
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from edl.parsing.yaml_edits import MISREAD, edited, lost_comments

JOB = """\
# top
apiVersion: batch/v1   # stable
kind: Job
metadata:
  name: x  # the name
  labels:   # ours
    # before app
    app: 'yes'
    mode: 17   # mode

    # after labels
  annotations: {a: "b", c: "1e3"}
# the spec
spec:
  parallelism: 2 # two
  empty:
  template:
    spec:
      containers:
      - name: main   # first
        image: "a:b"
        command: [sh, -c]
        args:
        - |
          echo hi   # no comment
          done
        # after args
        env:
        - {name: A, value: '1'}
      # the last comment
      restartPolicy: Never
# end
"""


def changed(text: str, change: Any) -> str:  # noqa: ANN401 - a function of the document
    before = yaml.safe_load(text)
    after = copy.deepcopy(before)
    change(after)
    new = edited(text, before, after)
    assert yaml.safe_load(new) == after
    return new


def test_only_the_lines_of_what_changed_differ() -> None:
    def change(job: Any) -> None:  # noqa: ANN401 - JSON
        job["metadata"]["labels"]["edl.dev/framework"] = "tensorflow"
        job["spec"]["parallelism"] = 4
        job["spec"]["completions"] = 3

    assert changed(JOB, change) == (
        JOB.replace("# mode\n", "# mode\n    edl.dev/framework: tensorflow\n")
        .replace("parallelism: 2", "parallelism: 4")
        .replace("Never\n", "Never\n  completions: 3\n")
    )


def test_what_goes_takes_only_its_own_comment_along() -> None:
    def change(job: Any) -> None:  # noqa: ANN401 - JSON
        del job["metadata"]["labels"]["mode"]
        del job["spec"]["template"]["spec"]["containers"][0]["env"]

    assert changed(JOB, change) == JOB.replace("    mode: 17   # mode\n", "").replace(
        "        env:\n        - {name: A, value: '1'}\n", ""
    )


def test_the_first_one_goes_and_the_comment_below_it_stays() -> None:
    text = "labels:\n  a: b # gone\n  # of c\n  c: d\n"
    assert changed(text, lambda found: found["labels"].pop("a")) == "labels:\n  # of c\n  c: d\n"


def test_new_values_are_quoted_where_kubectl_would_read_them_otherwise() -> None:
    texts = ["1", "true", "1e-3", "y", "", "null", "a: b", "plain", "two\nlines\n", "#", "é"]
    new = changed("kept: yes # c\n", lambda found: found.update(texts=texts, flag=True, none=None))
    assert new.startswith('kept: yes # c\ntexts:\n- "1"\n- "true"\n- "1e-3"\n- "y"\n- ""\n')
    assert new.endswith("flag: true\nnone:\n")


def test_lists_are_indented_as_they_are() -> None:
    text = "a:\n    - x\nb:\n    c: 1\n"
    new = changed(text, lambda found: found.update(d=["z"], e={"f": 1}))
    assert new == f"{text}d:\n    - z\ne:\n    f: 1\n"


def test_values_that_stay_are_written_as_they_were() -> None:
    text = "a: 0o17\nb: 1_000\nc: 1:30\nd: ~\ne: on\nf: 2026-01-01\ng: >-\n  folded\n  text\nh: 1\n"
    before = {"h": 1}
    assert edited(text, before, {"h": 2}) == text.replace("h: 1", "h: 2")


KEYS = st.sampled_from(["a", "b", "c", "name"])
TREES = st.recursive(
    st.sampled_from(["x", "1", "true", "p q", 1, True, None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
MAPS = st.dictionaries(KEYS, TREES, min_size=1, max_size=4)


def test_items_without_names_keep_their_comments_where_none_comes_or_goes() -> None:
    text = 'kind: List # all\nitems:\n- kind: Job # one\n  image: "a:b"\n# two\n- kind: Pod\n'
    new = changed(text, lambda found: found["items"][0].update(labels={"a": "b"}))
    assert new == text.replace('"a:b"\n', '"a:b"\n  labels:\n    a: b\n')


def test_lines_end_as_they_did() -> None:
    text = "kind: Job # one\r\nspec:\r\n  size: 2\r\n"
    new = changed(text, lambda found: found["spec"].update(size=3))
    assert new == text.replace("2", "3")


def test_lost_comments_are_told() -> None:
    before = "a: {b: 1,   # in braces\n  c: 2} # beside\n# below\n"
    assert lost_comments(before, before.replace("# in braces", "")) == ("# in braces",)
    assert lost_comments(before, before) == ()


def test_what_looks_like_a_comment_in_a_value_is_none() -> None:
    before = "a: \"x #1 é\" # é one\nb: | # two\n  # of the script\n  run #2\n# three\nc: 'y #4'\n"
    after = "a: 'x #1 é'\nb: '# of the script\n\n  run #2\n\n  '\nc: y\n"
    assert lost_comments(before, after) == ("# é one", "# two", "# three")
    assert lost_comments('{\n\t"a": "#"}', "a: x") == ()


def commented(tree: Any) -> str:  # noqa: ANN401 - JSON
    """A comment beside each value and one below it."""
    lines = yaml.safe_dump(tree, sort_keys=False, default_flow_style=False).splitlines()
    found = ""
    for number, line in enumerate(lines):
        indent = re.match(" *", line)
        blanks = indent[0] if indent else ""
        found += f"{line} # beside {number}\n{blanks}# below {number}\n"
    return found


@pytest.mark.slow
@given(MAPS, MAPS)
@example({"a": "x"}, {"a": [{}, "x", "x"]})
@example({"a": "1"}, {"a": 1})
def test_any_change_reads_back_or_is_refused(before: dict[str, Any], after: dict[str, Any]) -> None:
    try:
        new = edited(commented(before), before, after)
    except ValueError as error:
        assert str(error) in (MISREAD, "the items have another order")  # noqa: PT017 - these alone
    else:
        assert yaml.safe_load(new) == after


@pytest.mark.slow
@given(MAPS, st.dictionaries(st.sampled_from(["new", "other"]), TREES, min_size=1))
def test_no_addition_loses_a_comment(before: dict[str, Any], added: dict[str, Any]) -> None:
    text = commented(before)
    new = edited(text, before, before | added)
    assert yaml.safe_load(new) == before | added
    assert sorted(re.findall("# .*", new)) == sorted(re.findall("# .*", text))
