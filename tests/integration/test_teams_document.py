"""The document of the teams on a real API server: reviewed, followed, kept, and shown."""

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from edl import contract
from edl.errors import Invalid, NotFound
from edl.model import ObjectRef
from edl.writes import Json
from tests.integration.support.stage import Stage, elastic

APPLIED = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_APPLIED_CONFIG_MAP)

pytestmark = pytest.mark.integration

PLACE = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)


def manifest(text: str, name: str = PLACE.name) -> Json:
    return {"metadata": {"name": name}, "data": {contract.TEAMS_KEY: text}}


@pytest.fixture
def stage(installed: Stage) -> Iterator[Stage]:
    yield installed
    for one in (PLACE, PLACE._replace(name="other")):
        with suppress(NotFound):
            installed.api.delete(one)


def applied(stage: Stage) -> str:
    try:
        return str((stage.api.get(APPLIED).get("data") or {}).get(contract.TEAMS_KEY, ""))
    except NotFound:
        return ""


def test_a_document_is_refused_with_every_finding_or_followed_and_kept(stage: Stage) -> None:
    bad = "teams: [{name: Vision, weight: 0}]"

    def refused() -> str:
        try:
            stage.api.create(PLACE, manifest(bad), dry_run=True)
        except Invalid as error:
            return str(error)
        return ""

    stage.until(lambda: bool(refused()), "the API server asks about it")
    assert "data[teams.yaml]: teams[0].name" in refused()
    assert "data[teams.yaml]: teams[0].weight" in refused()
    other = PLACE._replace(name="other")
    stage.api.create(other, manifest(bad, "other"))
    good = "teams: [{name: vision, namespaces: ['vision-*']}]"
    stage.api.create(PLACE, manifest(good))
    stage.until(lambda: applied(stage) == good, "it is followed, and kept")
    with pytest.raises(Invalid, match=r"teams\[0\]\.name"):
        stage.api.patch(PLACE, {"data": {contract.TEAMS_KEY: bad}})
    assert applied(stage) == good
    stage.api.delete(PLACE)
    stage.until(lambda: applied(stage) == "", "without it there are no teams")


def test_the_queue_of_a_namespace_is_published(stage: Stage) -> None:
    """By the reconciler as it is started, with the right that it has."""
    stage.apply(elastic("huge", "10000", {"min": "1"}, parallelism=1))
    queue = ObjectRef("ConfigMap", stage.namespace, "edl-queue")

    def told() -> Json:
        try:
            found = stage.api.get(queue)["data"]["queue"]
        except NotFound:
            return {}
        return json.loads(found)  # type: ignore[no-any-return]

    stage.until(lambda: bool(told()), "it is published")
    (one,) = told()["items"]
    assert (one["name"], one["reason"]) == ("huge", "NeverFits")
    stage.kubectl("delete", "job", "huge")
    stage.until(lambda: not told(), "it goes when nothing waits")
