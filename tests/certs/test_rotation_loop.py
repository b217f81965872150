import base64
from datetime import UTC, datetime, timedelta

import pytest

from certs.bundle import KeyPair, each_certificate
from certs.rotation_loop import CertificateRotation, RotationTimings
from certs.secrets import WEBHOOK_KINDS, read_pair, rotate, usual
from certs.verify import is_signed_by, is_trusted
from edl.model import ObjectRef
from tests.fake_cluster.cluster import FakeCluster

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
INSTALLATION = usual()


class Leader:
    """What keeps the certificates, while seconds pass by its own clock."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.seconds = 0.0
        pace = RotationTimings(settles=timedelta(seconds=10))
        self._rotation = CertificateRotation(cluster, INSTALLATION, pace, lambda: self.seconds)

    def looks(self, after: float = 0.0) -> None:
        self.seconds += after
        self._rotation(NOW)


@pytest.fixture
def installed() -> FakeCluster:
    cluster = FakeCluster(lambda: NOW)
    for kind in WEBHOOK_KINDS:
        hooks = {"webhooks": [{"name": "jobs", "clientConfig": {}}]}
        cluster.create(ObjectRef(kind, "", "edl"), hooks)
    return cluster


def trusted(cluster: FakeCluster) -> bytes:
    found = cluster.get(ObjectRef(WEBHOOK_KINDS[0], "", "edl"))["webhooks"][0]
    return base64.b64decode(found["clientConfig"]["caBundle"])


def served(cluster: FakeCluster) -> KeyPair:
    return read_pair(cluster, INSTALLATION.serving)


def test_a_new_authority_is_trusted_then_signs_and_only_then_is_the_old_one_dropped(
    installed: FakeCluster,
) -> None:
    leader = Leader(installed)
    leader.looks()
    old = served(installed)
    new = rotate(installed, INSTALLATION, NOW).issuer.authority.certificate
    steps = []
    for after in (0.0, 9.0, 1.0, 3600.0, 10.1):
        leader.looks(after)
        pair, trust = served(installed), trusted(installed)
        assert is_trusted(pair, trust, NOW), "what is served is trusted all the time"
        steps.append((is_signed_by(pair.certificate, new), len(each_certificate(trust))))
        assert is_trusted(old, trust, NOW) == (len(each_certificate(trust)) == 2)
    leader.looks(0.1)
    assert steps == [(False, 2), (False, 2), (True, 2), (True, 2), (True, 1)]


def test_a_new_leader_waits_as_long_as_the_one_before(installed: FakeCluster) -> None:
    first = Leader(installed)
    first.looks()
    rotate(installed, INSTALLATION, NOW)
    first.looks()
    second = Leader(installed)
    second.looks(1000.0)
    assert trusted(installed).startswith(each_certificate(trusted(installed))[0])
    second.looks(9.0)
    new = each_certificate(trusted(installed))[0]
    assert not is_signed_by(served(installed).certificate, new)
    second.looks(1.1)
    assert is_signed_by(served(installed).certificate, new)


def test_the_old_authority_is_trusted_until_its_successors_pair_was_served_long_enough(
    installed: FakeCluster,
) -> None:
    """Also where that pair came late, because it could not be written."""
    leader = Leader(installed)
    leader.looks()
    rotate(installed, INSTALLATION, NOW)
    leader.looks()
    leader.looks(7200.0)
    leader.looks(0.1)
    assert len(each_certificate(trusted(installed))) == 2
    leader.looks(3610.0)
    assert len(each_certificate(trusted(installed))) == 1


def test_a_lost_authority_is_followed_by_another_while_what_it_signed_is_served(
    installed: FakeCluster,
) -> None:
    leader = Leader(installed)
    leader.looks()
    old = served(installed)
    installed.delete(INSTALLATION.authority)
    leader.looks(0.1)
    assert served(installed) == old
    assert is_trusted(old, trusted(installed), NOW)
    leader.looks(10.1)
    assert served(installed) != old
    assert is_trusted(served(installed), trusted(installed), NOW)
    assert is_trusted(old, trusted(installed), NOW)


@pytest.mark.parametrize("data", [None, {"tls.crt": "eA=="}])
def test_a_lost_pair_is_issued_again_at_once(
    installed: FakeCluster, data: dict[str, str] | None
) -> None:
    leader = Leader(installed)
    leader.looks()
    installed.patch(INSTALLATION.serving, {"data": data})
    leader.looks(0.1)
    assert is_trusted(served(installed), trusted(installed), NOW)
    assert len(each_certificate(trusted(installed))) == 1


def test_a_configuration_that_is_gone_delays_a_lost_pair_by_a_minute(
    installed: FakeCluster,
) -> None:
    """An installation that has just begun brings it meanwhile."""
    Leader(installed).looks()
    installed.delete(ObjectRef(WEBHOOK_KINDS[1], "", "edl"))
    installed.delete(INSTALLATION.serving)
    new_leader, lost = Leader(installed), []
    for after in (0.0, 59.0, 1.0):
        new_leader.looks(after)
        data = installed.get(INSTALLATION.serving).get("data") or {}
        lost.append("tls.crt" not in data)
    assert lost == [True, True, False]
    assert is_trusted(served(installed), trusted(installed), NOW)


def test_a_pair_that_is_lost_while_authorities_change_is_issued_once_clients_know_the_new(
    installed: FakeCluster,
) -> None:
    leader = Leader(installed)
    leader.looks()
    rotate(installed, INSTALLATION, NOW)
    leader.looks(0.1)
    installed.delete(INSTALLATION.serving)
    leader.looks(0.1)
    assert "data" not in installed.get(INSTALLATION.serving)
    leader.looks(10.1)
    assert is_trusted(served(installed), trusted(installed), NOW)
