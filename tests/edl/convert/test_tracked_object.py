"""The reader that loses nothing."""

from edl.convert.diagnostics import Remark, path_of
from edl.convert.tracked_object import ConversionReport, Fields
from edl.writes import Json


def opened(found: Json) -> tuple[Fields, ConversionReport]:
    report = ConversionReport()
    return Fields(found, ("spec",), report), report


def dropped(report: ConversionReport) -> list[str]:
    report.finish()
    return [path_of(remark.place) for remark in report.dropped]


def test_fields_that_are_not_taken_are_dropped() -> None:
    fields, report = opened({"a": 1, "b": {"c": 2, "d": 3}, "e": None, "f": [{"g": 1}]})
    assert fields.whole("a") == 1
    assert fields.fields("b").whole("c") == 2
    fields.entries("f")
    assert dropped(report) == ["spec.b.d", "spec.f[0].g"]


def test_what_is_never_opened_is_dropped_as_a_whole() -> None:
    _, report = opened({"b": {"c": 2}})
    assert dropped(report) == ["spec.b"]


def test_null_is_as_good_as_absent() -> None:
    fields, report = opened({"a": None})
    assert fields.names() == ()
    assert fields.text("a") == ""
    assert dropped(report) == []


def test_what_has_the_wrong_type_reads_as_absent_and_is_wrong() -> None:
    found: Json = {"a": "x", "b": 1, "c": [], "d": {}, "e": "x", "f": ["x"], "g": True, "h": "red"}
    fields, report = opened(found)
    assert fields.whole("a") is None
    assert fields.text("b") == ""
    assert fields.fields("c").names() == ()
    assert fields.entries("d") == []
    assert fields.flag("e") is False
    assert fields.entries("f") == []
    assert fields.whole("g") is None
    assert fields.choice("h", ("blue",)) == ""
    assert [path_of(remark.place) for remark in report.wrong] == [
        "spec.a",
        "spec.b",
        "spec.c",
        "spec.d",
        "spec.e",
        "spec.f[0]",
        "spec.g",
        "spec.h",
    ]
    assert dropped(report) == []


def test_a_whole_value_is_the_readers_own() -> None:
    found = {"a": {"b": [1]}}
    fields, _ = opened(found)
    fields.value("a")["b"].append(2)
    assert found == {"a": {"b": [1]}}


def test_a_part_of_the_wrong_shape_is_named_where_it_stands() -> None:
    fields, report = opened({"a": {"list": [{"name": 1}, None], "map": {"x": []}}})
    shape = {"list": [{"name": str}], "map": {...: str}}
    assert fields.shaped("a", shape) is None
    assert [path_of(remark.place) for remark in report.wrong] == [
        "spec.a.list[0].name",
        "spec.a.list[1]",
        "spec.a.map.x",
    ]


def test_a_known_field_says_its_own_way_out() -> None:
    fields, report = opened({"queue": "gpu"})
    fields.drop("queue", instead="set a priority class")
    fields.drop("absent", instead="nothing")
    (remark,) = report.dropped
    assert str(remark) == 'spec.queue: "gpu" is not carried; set a priority class'


def test_names_that_are_not_words_stand_in_brackets() -> None:
    place = ("metadata", "annotations", "kubeshare/GPUID")
    assert path_of(place) == "metadata.annotations[kubeshare/GPUID]"
    assert str(Remark((), "an operation")) == "an operation"


def test_long_values_are_cut() -> None:
    fields, report = opened({"a": "x" * 100})
    fields.drop("a")
    assert len(str(report.dropped[0])) < 160
