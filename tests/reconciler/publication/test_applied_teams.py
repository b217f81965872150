"""The leader keeps the document that it decides by, and every process says which is not read."""

import logging

import pytest
from prometheus_client import CollectorRegistry, Gauge

from edl import contract
from edl.errors import Finding, NotFound
from edl.kube.cache.team_source import TeamsReading
from edl.model import ObjectRef
from reconciler.publication.applied_teams import AppliedTeams
from tests.fake_cluster.cluster import FakeCluster
from tests.reconciler.times import Time

APPLIED = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_APPLIED_CONFIG_MAP)

ONE = {contract.TEAMS_KEY: "teams: [{name: one}]"}
TWO = {contract.TEAMS_KEY: "teams: [{name: two}]"}
WRONG = (Finding("data[teams.yaml]: teams[0].name", "is empty"),)


class Keeper:
    def __init__(self) -> None:
        self.cluster = FakeCluster(Time().now)
        self.gauge = Gauge("invalid", "…", registry=CollectorRegistry())
        self.reading = TeamsReading()
        self.teams = self.another()

    def another(self) -> AppliedTeams:
        return AppliedTeams(self.cluster, lambda: self.reading, self.gauge)

    def reads(self, reading: TeamsReading, *, leading: bool = True) -> object:
        """What is kept when this was read."""
        self.reading = reading
        self.teams.lead() if leading else self.teams.follow()
        try:
            return self.cluster.get(APPLIED)["data"]
        except NotFound:
            return None

    @property
    def invalid(self) -> float:
        (family,) = self.gauge.collect()
        return family.samples[0].value


@pytest.fixture
def keeper(caplog: pytest.LogCaptureFixture) -> Keeper:
    caplog.set_level(logging.INFO)
    return Keeper()


def test_what_is_decided_by_is_kept(keeper: Keeper) -> None:
    assert keeper.reads(TeamsReading(data=ONE, version="1")) == ONE
    assert keeper.reads(TeamsReading(data=TWO, version="2")) == TWO
    assert keeper.reads(TeamsReading(version="")) == {}


def test_where_there_are_no_teams_nothing_is_made(keeper: Keeper) -> None:
    assert keeper.reads(TeamsReading(version="")) is None


def test_before_anything_was_read_nothing_is_written(keeper: Keeper) -> None:
    keeper.reads(TeamsReading(data=ONE, version="1"))
    keeper.teams = keeper.another()
    assert keeper.reads(TeamsReading()) == ONE


def test_a_follower_writes_nothing_until_it_leads(keeper: Keeper) -> None:
    reading = TeamsReading(data=ONE, version="1")
    assert keeper.reads(reading, leading=False) is None
    assert keeper.reads(reading) == ONE


def test_a_document_that_is_not_read_is_never_kept_and_is_told_once(
    keeper: Keeper, caplog: pytest.LogCaptureFixture
) -> None:
    keeper.reads(TeamsReading(data=ONE, version="1"))
    wrong = TeamsReading(data=ONE, findings=WRONG, version="2")
    assert keeper.reads(wrong) == ONE
    assert keeper.reads(wrong) == ONE
    assert keeper.invalid == 1
    assert caplog.text.count("teams[0].name: is empty") == 1
    assert keeper.reads(TeamsReading(data=TWO, version="3")) == TWO
    assert keeper.invalid == 0
    assert "is valid again" in caplog.text


def test_what_others_wrote_there_is_written_again_by_the_next_leader(keeper: Keeper) -> None:
    keeper.reads(TeamsReading(data=ONE, version="1"))
    keeper.cluster.patch(APPLIED, {"data": {contract.TEAMS_KEY: "x", "more": "y"}})
    keeper.teams = keeper.another()
    assert keeper.reads(TeamsReading(data=ONE, version="1")) == ONE


def test_what_was_kept_and_cannot_be_read_now_is_not_lost(
    keeper: Keeper, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the right to read it, or if newer rules forbid it; guarantees then end."""
    keeper.reads(TeamsReading(data=ONE, version="1"))
    keeper.teams = keeper.another()
    assert keeper.reads(TeamsReading(findings=WRONG, version="2")) == ONE
    assert "is invalid, no teams are in effect: data" in caplog.text


def test_a_process_that_leads_no_more_does_not_call_the_document_read(
    keeper: Keeper, caplog: pytest.LogCaptureFixture
) -> None:
    keeper.reads(TeamsReading(data=ONE, findings=WRONG, version="2"))
    keeper.reads(TeamsReading(), leading=False)
    assert "is valid again" not in caplog.text
    assert keeper.invalid == 0
