from datetime import UTC, datetime
from threading import Timer

import pytest

from edl.errors import Forbidden, Invalid
from edl.kube.cluster import LogRequest
from edl.model import ObjectRef
from tests.edl.kube.servers import Answer, api, serving, status
from tests.fake_cluster.cluster import FakeCluster

POD = ObjectRef("Pod", "lab", "mnist-0-x")
LOG = LogRequest(POD, "main")
NOW = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
FIRST, SECOND, THIRD = (f"2026-01-01T12:00:{second}.5Z step" for second in (10, 20, 25))


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(lambda: NOW)
    cluster.create(POD, {"metadata": {"name": POD.name}})
    return cluster


def test_a_server_is_asked_for_the_lines_that_are_wanted() -> None:
    wanted = LogRequest(POD, "main", follow=True, tail=0, since=60, after="2026-01-01T12:00:00Z")
    with serving(Answer(200, "")) as (script, address):
        list(api(address).log(wanted))
        list(api(address).log(LogRequest(POD, "main", previous=True)))
    place = "/api/v1/namespaces/lab/pods/mnist-0-x/log?container=main&timestamps=true"
    assert [asked.path for asked in script.asked] == [
        f"{place}&follow=true&tailLines=0&sinceSeconds=60&sinceTime=2026-01-01T12%3A00%3A00Z",
        f"{place}&previous=true",
    ]


def test_lines_come_without_their_ends_and_the_last_one_needs_none() -> None:
    with serving(Answer(200, f"{FIRST}\n{SECOND} \n{THIRD}")) as (_, address):
        assert list(api(address).log(LOG)) == [FIRST, f"{SECOND} ", THIRD]


def test_what_the_server_refuses_is_said_in_its_words() -> None:
    why = 'container "main" in pod "mnist-0-x" is waiting to start: ContainerCreating'
    with serving(status(400, why)) as (_, address), pytest.raises(Invalid, match=why):
        api(address).log(LOG)
    words = 'User "ann" cannot get resource "pods/log" in API group ""'
    question = "can-i get pods/mnist-0-x --subresource=log -n lab"
    expected = rf'"ann" may not get pods/log mnist-0-x .*{question}'
    with serving(status(403, words)) as (_, address), pytest.raises(Forbidden, match=expected):
        api(address).log(LOG)


def test_a_fake_log_begins_where_it_is_asked_to(cluster: FakeCluster) -> None:
    cluster.logs.write(POD, "main", FIRST, SECOND, THIRD)
    assert list(cluster.log(LOG)) == [FIRST, SECOND, THIRD]
    assert list(cluster.log(LogRequest(POD, "main", tail=1))) == [THIRD]
    assert list(cluster.log(LogRequest(POD, "main", since=15))) == [SECOND, THIRD]
    after = "2026-01-01T12:00:20.5Z"
    assert list(cluster.log(LogRequest(POD, "main", after=after))) == [SECOND, THIRD]


def test_a_fake_log_is_followed_until_its_container_ends(cluster: FakeCluster) -> None:
    cluster.logs.write(POD, "main", FIRST)
    Timer(0.05, lambda: cluster.logs.write(POD, "main", SECOND)).start()
    Timer(0.1, lambda: cluster.logs.end(POD)).start()
    assert list(cluster.log(LogRequest(POD, "main", follow=True))) == [FIRST, SECOND]


def test_a_fake_log_that_is_closed_ends(cluster: FakeCluster) -> None:
    cluster.logs.write(POD, "main", FIRST)
    log = cluster.log(LogRequest(POD, "main", follow=True))
    Timer(0.05, log.close).start()
    assert list(log) == [FIRST]


def test_a_fake_container_that_has_not_started_has_no_log(cluster: FakeCluster) -> None:
    with pytest.raises(Invalid, match="is waiting to start"):
        cluster.log(LOG)
    cluster.logs.write(POD, "main")
    with pytest.raises(Invalid, match='previous terminated container "main"'):
        cluster.log(LogRequest(POD, "main", previous=True))
