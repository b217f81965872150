from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from edl import contract
from edl.contract import registry
from edl.contract.registry import EntryKind
from edl.errors import Denied
from edl.parsing.namespace_policy import SILENT, check, policy, read
from edl.writes import Json
from tests.edl.manifests import refusals

ROOT = Path(__file__).parents[3]


def namespace(*, labels: Json | None = None, **settings: object) -> Json:
    """`largest_max="4"` is the annotation `edl.dev/largest-max: "4"`."""
    annotations = {
        contract.PREFIX + name.replace("_", "-"): value for name, value in settings.items()
    }
    return {"metadata": {"name": "lab", "labels": labels or {}, "annotations": annotations}}


def said(**settings: Any) -> list[str]:  # noqa: ANN401 - JSON
    return [str(finding) for finding in read(namespace(**settings)).findings]


def test_a_namespace_that_says_nothing_sets_nothing() -> None:
    assert policy("", {}, {}) == SILENT
    assert not SILENT.limits
    assert read({}) == SILENT
    assert read({"metadata": {"labels": None, "annotations": None}}) == SILENT


def test_every_setting_is_read() -> None:
    found = read(
        namespace(
            labels={contract.INJECTION: contract.ENABLED},
            default_framework="pytorch",
            default_min="1",
            default_max="8",
            default_priority="training.low",
            largest_max="16",
            gpu_budget="2.5",
        )
    )
    assert found.findings == ()
    assert (found.namespace, found.adopts, found.framework) == ("lab", True, "pytorch")
    assert (found.default_min, found.default_max, found.largest_max) == (1, 8, 16)
    assert (found.default_priority, found.gpu_budget) == ("training.low", Decimal("2.5"))
    assert found.limits


def test_opting_in_without_a_framework_means_none() -> None:
    found = read(namespace(labels={contract.INJECTION: contract.ENABLED}))
    assert (found.adopts, found.framework) == (True, "none")


@pytest.mark.parametrize("value", ["disabled", "true", "", "Enabled"])
def test_nothing_else_opts_in(value: str) -> None:
    assert not read(namespace(labels={contract.INJECTION: value})).adopts


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("default_framework", "caffe"),
        ("default_framework", ""),
        ("default_min", "0"),
        ("default_max", "many"),
        ("default_max", "100001"),
        ("default_priority", "Very High"),
        ("largest_max", "-1"),
        ("largest_max", "1.5"),
        ("largest_max", ""),
        ("largest_max", " 4"),
        ("gpu_budget", "lots"),
        ("gpu_budget", "-2"),
        ("gpu_budget", "2."),
        ("gpu_budget", "1e3"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_annotation(setting: str, value: str) -> None:
    (finding,) = read(namespace(labels=None, **{setting: value})).findings
    assert finding.path == f"metadata.annotations[edl.dev/{setting.replace('_', '-')}]"
    assert f'"{value}"' in finding.what or finding.allowed.startswith("1 to")
    assert finding.allowed
    assert read(namespace(labels=None, **{setting: value})).limits, "it may have been a ceiling"


def test_everything_that_cannot_be_read_is_told_at_once() -> None:
    assert len(said(default_min="x", largest_max="y", gpu_budget="z")) == 3


def test_a_budget_of_no_gpus_is_one() -> None:
    assert read(namespace(gpu_budget="0")).gpu_budget == 0


def test_settings_that_contradict_each_other_are_told() -> None:
    assert said(default_min="4", default_max="2") == [
        "metadata.annotations[edl.dev/default-min]: 4 is above edl.dev/default-max: 2; no more"
    ]
    assert len(said(default_min="9", default_max="8", largest_max="4")) == 3
    assert said(default_min="4", default_max="4", largest_max="4") == []


def test_without_defaults_the_ceilings_stay() -> None:
    labels = {contract.INJECTION: contract.ENABLED}
    full = read(namespace(labels=labels, default_max="2", default_priority="p", largest_max="x"))
    bare = full.without_defaults
    assert (bare.adopts, bare.default_max, bare.default_priority) == (False, None, "")
    assert bare.findings == full.findings


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_an_unknown_setting_that_was_stored_may_have_been_a_limit(part: str) -> None:
    stored = read({"metadata": {"name": "lab", part: {"edl.dev/larges-max": "1"}}})
    (finding,) = stored.findings
    assert finding.path == f"metadata.{part}[edl.dev/larges-max]"
    assert stored.limits


def test_of_many_unknown_settings_some_are_told() -> None:
    many = {f"edl.dev/limit-{index}": "1" for index in range(1000)}
    assert len(read({"metadata": {"name": "lab", "annotations": many}}).findings) == 10


def test_an_unknown_setting_is_refused_with_the_closest_known_one() -> None:
    with pytest.raises(Denied) as denied:
        check(namespace(larges_max="4", colour="red"), None)
    second, first = denied.value.findings
    assert str(first) == (
        "metadata.annotations[edl.dev/larges-max]: a namespace has no such setting; "
        "did you mean edl.dev/largest-max?"
    )
    assert second.allowed.startswith("one of edl.dev/kubexec, edl.dev/injection, ")


def test_a_label_that_means_nothing_on_a_namespace_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(Denied, match=r"labels\[edl.dev/kubexc\].* did you mean edl.dev/kubexec\?"):
        check(namespace(labels={"edl.dev/kubexc": contract.ENABLED}), None)
    with pytest.raises(Denied, match=r"labels\[edl.dev/default-max\].* it is one of metadata.anno"):
        check(namespace(labels={contract.DEFAULT_MAX: "4"}), None)


def test_a_word_that_does_not_let_launchers_exec_is_refused() -> None:
    with pytest.raises(Denied, match=r'kubexec\]: "on"; enabled, or leave it out'):
        check(namespace(labels={contract.KUBEXEC: "on"}), None)


def test_a_word_that_does_not_opt_in_is_refused() -> None:
    with pytest.raises(Denied, match=r'injection\]: "true"; enabled, or leave it out'):
        check(namespace(labels={contract.INJECTION: "true"}), None)


def test_foreign_labels_and_annotations_of_a_namespace_are_accepted() -> None:
    body = namespace()
    body["metadata"]["labels"] = {"team": "vision"}
    body["metadata"]["annotations"] = {"scheduler.alpha.kubernetes.io/defaultTolerations": "[]"}
    assert refusals(check, body, None) == []


def test_a_namespace_with_an_old_wrong_stays_touchable() -> None:
    old = namespace(largest_max="x")
    check(namespace(largest_max="x", gpu_budget="8"), old)
    with pytest.raises(Denied) as denied:
        check(namespace(largest_max="x", gpu_budget="y"), old)
    assert [finding.path for finding in denied.value.findings] == [
        "metadata.annotations[edl.dev/gpu-budget]"
    ]


def test_the_documented_namespace_says_everything_and_is_let_in() -> None:
    page = (ROOT / "docs" / "operations" / "namespaces.md").read_text()
    body = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    check(body, None)
    settings = {
        entry.name for entry in registry.ENTRIES if entry.kind is EntryKind.NAMESPACE_ANNOTATION
    }
    assert set(body["metadata"]["annotations"]) == settings
    assert read(body).adopts


def test_of_many_unknown_settings_the_first_ten_are_told() -> None:
    many = {f"edl.dev/unknown-{number:04}": "" for number in range(3_000)}
    manifest = {"metadata": {"name": "lab", "annotations": many}}
    with pytest.raises(Denied) as denied:
        check(manifest, None)
    assert len(denied.value.findings) == 10
    check(manifest, manifest)
    more = {"metadata": {"name": "lab", "annotations": {**many, "edl.dev/unknown": ""}}}
    with pytest.raises(Denied, match=r"\[edl\.dev/unknown\]"):
        check(more, manifest)


@pytest.mark.parametrize(
    "name", [contract.DEFAULT_PRIORITY, contract.DEFAULT_FRAMEWORK, contract.DEFAULT_MIN]
)
def test_a_value_that_yaml_reads_as_another_type_has_one_finding(name: str) -> None:
    found = read({"metadata": {"name": "lab", "annotations": {name: True}}}).findings
    assert [str(one) for one in found] == [
        f'metadata.annotations[{name}]: True is not a string; quote it: "true"'
    ]
