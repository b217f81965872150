"""A document that cannot be read never takes effect: the last one that could be stays."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest

from edl import contract
from edl.errors import Forbidden, NotFound, Unreachable
from edl.kube.cache.team_source import TeamSource
from edl.kube.cache.watched_kinds import Stores, fill
from edl.kube.state.incremental_state import read_state
from edl.model import ObjectRef, Teams
from edl.writes import Json
from tests.fake_cluster.cluster import FakeCluster

APPLIED = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_APPLIED_CONFIG_MAP)

PLACE = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
BAD = "teams: [{name: Vision}]"


def document(*names: str) -> str:
    return "teams:\n" + "".join(f"- name: {name}\n" for name in names)


class Watched(FakeCluster):
    """It may not answer."""

    def __init__(self) -> None:
        super().__init__(lambda: datetime(2026, 1, 1, tzinfo=UTC))
        self.error: Exception | None = None
        self.stores = Stores()
        self.source = TeamSource(self.stores.teams, self)

    def get(self, target: ObjectRef) -> Json:
        if self.error:
            raise self.error
        return super().get(target)

    def put(self, text: str, target: ObjectRef = PLACE) -> None:
        body = {"data": {contract.TEAMS_KEY: text}}
        with suppress(NotFound):
            self.delete(target)
        self.create(target, body)

    def names(self) -> list[str]:
        """Of the teams that are decided by now."""
        for selection, store in self.stores:
            if store is self.stores.teams:
                fill(self, selection, store)
        return [team.name for team in self.source.teams() if team.name != "default"]


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_without_a_document_there_are_no_teams(watched: Watched) -> None:
    assert watched.names() == []
    assert watched.source.reading.version == ""


def test_a_new_document_takes_effect_and_a_deleted_one_takes_the_teams_along(
    watched: Watched,
) -> None:
    watched.put(document("vision"))
    assert watched.names() == ["vision"]
    watched.put(document("speech", "vision"))
    assert watched.names() == ["speech", "vision"]
    watched.delete(PLACE)
    assert watched.names() == []


def test_one_that_cannot_be_read_changes_nothing_and_is_told(watched: Watched) -> None:
    watched.put(document("vision"))
    watched.names()
    watched.put(BAD)
    assert watched.names() == ["vision"]
    (finding,) = watched.source.reading.findings
    assert finding.path == "data[teams.yaml]: teams[0].name"
    watched.put(document("speech"))
    assert watched.names() == ["speech"]
    assert watched.source.reading.findings == ()


def test_a_new_process_decides_by_what_the_last_leader_kept(watched: Watched) -> None:
    watched.put(BAD)
    watched.put(document("vision"), APPLIED)
    assert watched.names() == ["vision"]
    assert watched.source.reading.data == {contract.TEAMS_KEY: document("vision")}
    assert len(watched.source.reading.findings) == 1


def test_what_was_kept_counts_only_where_the_newest_cannot_be_read(watched: Watched) -> None:
    watched.put(document("vision"), APPLIED)
    assert watched.names() == []
    watched.put(document("speech"))
    assert watched.names() == ["speech"]


@pytest.mark.parametrize("text", [None, BAD])
def test_where_nothing_was_kept_there_are_no_teams(watched: Watched, text: str | None) -> None:
    watched.put(BAD)
    if text:
        watched.put(text, APPLIED)
    assert watched.names() == []


def test_while_it_is_not_known_what_was_kept_nothing_is_decided(watched: Watched) -> None:
    watched.put(BAD)
    watched.put(document("vision"), APPLIED)
    watched.error = Unreachable("no answer")
    with pytest.raises(Unreachable):
        watched.names()
    watched.error = None
    assert watched.names() == ["vision"]


def test_what_another_leader_kept_meanwhile_counts(watched: Watched) -> None:
    watched.put(document("vision"))
    watched.names()
    watched.source.forget()
    watched.put(document("speech"), APPLIED)
    watched.put(BAD)
    assert watched.names() == ["speech"]


def test_a_binary_document_is_a_finding_and_deletes_no_teams(watched: Watched) -> None:
    watched.put(document("vision"))
    watched.names()
    watched.delete(PLACE)
    watched.create(PLACE, {"binaryData": {contract.TEAMS_KEY: "//4="}})
    assert watched.names() == ["vision"]
    assert watched.source.reading.findings


def test_a_reconciler_without_the_right_to_read_it_decides_without(watched: Watched) -> None:
    watched.put(BAD)
    watched.error = Forbidden("no", 403)
    assert watched.names() == []


def test_a_version_is_read_once(watched: Watched) -> None:
    watched.put(document("vision"))
    watched.names()
    before = watched.source.teams()
    assert watched.source.teams() is before


def test_the_plugin_reads_the_same_teams(watched: Watched) -> None:
    watched.put(BAD)
    watched.put(document("vision"), APPLIED)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert [team.name for team in read_state(watched, now).teams] == ["default", "vision"]
    watched.delete(PLACE)
    assert read_state(watched, now).teams == Teams()
