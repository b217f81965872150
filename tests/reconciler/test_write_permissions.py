"""A reconciler that may not write says so, before anybody wonders why nothing changes."""

import logging
from collections.abc import Mapping
from threading import Event
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Gauge

from edl.annotations.json_text import json_text
from edl.errors import Forbidden
from edl.frameworks.base import ModeRight
from edl.kube.auth.access_review import AccessRight, MissingRights, read
from edl.model import ObjectRef
from edl.planner.decision_limits import Autoscaler
from edl.writes import Json
from manifests.documents import load
from reconciler.write_permissions import (
    NEEDED,
    OF_MODES,
    PROVISIONING,
    SOONEST,
    USUAL,
    WritePermissions,
    needed,
)
from tests.fake_cluster.cluster import FakeCluster
from tests.integration.support.rights import grants
from tests.reconciler.times import Time

READS = {"get", "list", "watch"}
USER = "system:serviceaccount:web:default"


class Reviewing(FakeCluster):
    """An API server that answers access reviews."""

    def __init__(self) -> None:
        super().__init__(Time().now)
        self.denied: set[str] = set()
        self.trouble: Forbidden | None = None
        self.looks = 0

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        assert target.kind.startswith("Self"), (manifest, dry_run)
        if self.trouble:
            raise self.trouble
        if target.kind == "SelfSubjectReview":
            self.looks += 1
            return {"status": {"userInfo": {"username": USER}}}
        asked = manifest["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked["subresource"])))
        right = AccessRight(asked["verb"], resource, asked["group"], name=asked["name"])
        return {"status": {"allowed": str(right) not in self.denied}}


class Watched:
    """Rights, and all that they say."""

    def __init__(self) -> None:
        self.cluster = Reviewing()
        self.forbidden = Event()
        self.gauge = Gauge("missing", "…", registry=CollectorRegistry())
        self.said: list[MissingRights | None] = []
        self.seconds = 0.0
        self.rights = WritePermissions(
            self.cluster, NEEDED, self.forbidden, self.gauge, self.said.append, lambda: self.seconds
        )

    def after(self, seconds: float, *, leading: bool = True) -> int:
        """How often the API server has been asked then."""
        self.seconds += seconds
        self.rights.lead() if leading else self.rights.follow()
        return self.cluster.looks

    @property
    def counted(self) -> float:
        (family,) = self.gauge.collect()
        return family.samples[0].value


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    caplog.set_level(logging.INFO)
    return Watched()


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        ("edl-reconciler", NEEDED),
        ("edl-reconciler-provisioning", PROVISIONING),
        *((f"edl-reconciler-{right}", given) for right, given in OF_MODES.items()),
    ],
)
def test_what_is_asked_for_is_what_the_manifests_give_to_write_in_the_whole_cluster(
    role: str, rights: tuple[AccessRight, ...]
) -> None:
    given = {
        AccessRight(grant.verb, grant.resource, grant.group, name=grant.name)
        for grant in grants(load(), role)
        if grant.kind == "ClusterRole" and grant.verb not in READS
    }
    assert given == set(rights)
    assert len(given) == len(rights)


@pytest.mark.parametrize("autoscaler", Autoscaler)
def test_the_rights_to_ask_for_nodes_are_needed_unless_no_autoscaler_is_asked(
    autoscaler: Autoscaler,
) -> None:
    asks = {*PROVISIONING} <= {*needed(autoscaler)}
    assert asks is (autoscaler is not Autoscaler.NONE)
    assert {*NEEDED} <= {*needed(autoscaler)}


@pytest.mark.parametrize("right", ModeRight)
def test_a_right_that_the_installation_withholds_is_not_needed(right: ModeRight) -> None:
    every = {*needed(Autoscaler.PRESENT)}
    assert {*needed(Autoscaler.PRESENT, {right})} == every - {*OF_MODES[right]}


def test_what_is_missing_is_logged_once_counted_and_published(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.cluster.denied = {"patch jobs.batch", "create events"}
    watched.after(0)
    watched.after(SOONEST)
    assert watched.said == [MissingRights(USER, ("patch jobs.batch", "create events"))] * 2
    assert watched.counted == 2
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == (
        "WARNING",
        (
            f'"{USER}" may not patch jobs.batch, create events: decisions that take such writes '
            "are not carried out; the manifests grant them to ServiceAccount "
            "edl-system/edl-reconciler (requests for nodes: with the fence)"
        ),
    )
    watched.cluster.denied = {"create events"}
    watched.after(SOONEST)
    assert [one.levelname for one in caplog.records] == ["WARNING"] * 2
    watched.cluster.denied = set()
    watched.after(SOONEST)
    assert caplog.records[-1].getMessage() == "all write permissions are granted again"
    assert watched.said[-1] == MissingRights(USER)
    assert watched.counted == 0


def test_a_write_that_is_forbidden_asks_again_and_nothing_else_does_soon(watched: Watched) -> None:
    assert watched.after(0) == 1
    assert watched.after(USUAL - 1) == 1
    watched.forbidden.set()
    assert watched.after(0) == 2
    watched.forbidden.set()
    assert watched.after(SOONEST - 1) == 2, "one quota refuses many writes"
    assert watched.after(1) == 3
    assert watched.after(USUAL) == 4


def test_permissions_are_reviewed_only_while_leading(watched: Watched) -> None:
    assert watched.after(0, leading=False) == 0
    watched.cluster.denied = {"create events"}
    assert watched.after(1) == 1
    assert watched.counted == 1
    assert watched.after(1, leading=False) == 1
    assert watched.counted == 0
    assert watched.after(1) == 2


def test_a_forbidden_access_review_reports_no_missing_rights(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.cluster.trouble = Forbidden("may not create selfsubjectaccessreviews", 403)
    watched.after(0)
    assert watched.said == [None]
    assert caplog.records == []
    watched.cluster.trouble = None
    assert watched.after(SOONEST) == 1


@pytest.mark.parametrize("text", [None, "", "[]", '{"user": 5}', "{" * 9999])
def test_a_malformed_annotation_reports_no_missing_rights(text: str | None) -> None:
    assert read(text) is None
    missing = MissingRights("ann", ("patch pods",))
    assert read(json_text(missing)) == missing
