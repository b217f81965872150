"""What holds for every stream of queues: nothing is lost in silence, and nothing breaks."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.convert.queues.queue_conversion import ConvertedQueues
from edl.parsing.team_config_map import check, teams_of
from edl.writes import Json
from tests.edl.convert.documents import leaves, objects, with_value
from tests.edl.convert.queues.queue_samples import converted, errors

EXAMPLES = Path(__file__).parents[4] / "examples" / "convert" / "queues"
STREAMS: list[list[Json]] = [
    list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())) for name in ("kueue", "kai")
]
LAW = settings(max_examples=200, deadline=None)
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 2.5, 2**70, 1e300, "", "x", "research", [], {}, [1], {"a": "b"}, [{}]]
)


def remarks(found: ConvertedQueues) -> list[str]:
    return [
        str(one)
        for report in found.reports
        for one in (*report.dropped, *report.notes, *report.wrong)
    ]


@pytest.mark.parametrize("stream", STREAMS, ids=["kueue", "kai"])
def test_an_unknown_field_is_named(stream: list[Json]) -> None:
    for number, document in enumerate(stream):
        for place in objects(document):
            changed = with_value(document, (*place, "unheardOf"), "marked")
            found = converted(*stream[:number], changed, *stream[number + 1 :])
            said = remarks(found)
            labels = "matchLabels" in place
            assert labels or any("unheardOf" in one for one in said), place


@pytest.mark.slow
@LAW
@given(st.data())
def test_nonsense_is_refused_or_becomes_teams_that_our_parser_reads(data: st.DataObject) -> None:
    stream = list(data.draw(st.sampled_from(STREAMS)))
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(stream) - 1))
        places = [
            place
            for place in (*leaves(stream[number]), *objects(stream[number]))
            if place and place[0] not in ("kind", "apiVersion")
        ]
        place = data.draw(st.sampled_from([("spec",), *places]))
        stream[number] = with_value(stream[number], place, data.draw(JUNK))
    found = converted(*stream)
    assert (found.manifest is None) == bool(errors(found))
    if found.manifest is not None:
        check(found.manifest)


@pytest.mark.slow
@LAW
@given(st.permutations(STREAMS[0]))
def test_the_order_of_documents_does_not_matter(stream: list[Json]) -> None:
    first, second = converted(*STREAMS[0]).manifest, converted(*stream).manifest
    assert first is not None
    assert second is not None
    assert teams_of(first["data"]) == teams_of(second["data"])
