import base64
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest

from certs.bundle import Bundle, CertificateError, each_certificate
from certs.rotation_steps import (
    MAX_PREDECESSORS,
    CertificateRequest,
    TrustProgress,
    is_good,
)
from certs.secrets import (
    WEBHOOK_KINDS,
    ensure,
    read_issuer,
    read_pair,
    renew,
    rotate,
    secret_target,
    usual,
)
from certs.subject_names import service_names
from certs.verify import is_signed_by, is_trusted
from edl.errors import Conflict, Forbidden
from edl.model import ObjectRef
from edl.writes import Json
from tests.fake_cluster.cluster import FakeCluster

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
NAMES = service_names("edl-webhook", "edl-system")
INSTALLATION = usual()
AUTHORITY, SERVING = INSTALLATION.authority, INSTALLATION.serving
MUTATING, VALIDATING = (ObjectRef(kind, "", "edl") for kind in WEBHOOK_KINDS)


def as_shipped(cluster: FakeCluster) -> FakeCluster:
    """The empty Secrets and the configurations as the manifests bring them."""
    for secret in (AUTHORITY, SERVING):
        cluster.create(secret, {"metadata": {}, "type": "Opaque"})
    for target in (MUTATING, VALIDATING):
        service = {"service": {"namespace": "edl-system", "name": "edl-webhook"}}
        webhooks = [{"name": name, "clientConfig": service} for name in ("jobs", "pods")]
        cluster.create(target, {"metadata": {}, "webhooks": webhooks})
    return cluster


@pytest.fixture
def cluster() -> FakeCluster:
    return as_shipped(FakeCluster(lambda: NOW))


def kept(cluster: FakeCluster) -> Bundle:
    return Bundle(read_issuer(cluster, AUTHORITY), read_pair(cluster, SERVING))


def data(cluster: FakeCluster, secret: ObjectRef) -> set[str]:
    return set(cluster.get(secret)["data"])


def trusted(cluster: FakeCluster, target: ObjectRef) -> set[bytes]:
    webhooks = cluster.get(target)["webhooks"]
    return {base64.b64decode(each["clientConfig"]["caBundle"]) for each in webhooks}


def test_empty_secrets_are_filled_and_every_webhook_trusts_the_authority(
    cluster: FakeCluster,
) -> None:
    installed = ensure(cluster, INSTALLATION, NOW)
    assert is_good(kept(cluster).pair, kept(cluster).trust, CertificateRequest(NAMES, NOW))
    assert kept(cluster) == Bundle(installed.issuer, installed.pair or kept(cluster).pair)
    assert trusted(cluster, MUTATING) == trusted(cluster, VALIDATING) == {installed.issuer.trust}


def test_the_key_that_signs_lies_apart_from_the_pair_that_is_served(cluster: FakeCluster) -> None:
    ensure(cluster, INSTALLATION, NOW)
    assert data(cluster, AUTHORITY) == {"ca.crt", "ca.key"}
    assert data(cluster, SERVING) == {"tls.crt", "tls.key"}


def test_the_rest_of_a_webhook_stays_as_it_is(cluster: FakeCluster) -> None:
    ensure(cluster, INSTALLATION, NOW)
    first = cluster.get(MUTATING)["webhooks"][0]
    assert first["name"] == "jobs"
    assert first["clientConfig"]["service"] == {"namespace": "edl-system", "name": "edl-webhook"}


class Written(FakeCluster):
    """Counts what is asked of the API server, also what changes nothing there."""

    writes = 0

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        self.writes += 1
        return super().patch(target, body, dry_run=dry_run)


def test_ensuring_again_writes_nothing() -> None:
    cluster = Written(lambda: NOW)
    as_shipped(cluster)
    ensure(cluster, INSTALLATION, NOW)
    before = cluster.writes
    ensure(cluster, INSTALLATION, NOW + timedelta(days=1))
    assert (before > 0, cluster.writes) == (True, before)


def test_a_removed_ca_bundle_is_restored(cluster: FakeCluster) -> None:
    issuer = ensure(cluster, INSTALLATION, NOW).issuer
    cluster.patch(VALIDATING, {"webhooks": [{"name": "jobs", "clientConfig": {}}]})
    ensure(cluster, INSTALLATION, NOW)
    assert trusted(cluster, VALIDATING) == {issuer.trust}


@pytest.mark.parametrize(
    ("secret", "name"), [(AUTHORITY, "ca.crt"), (AUTHORITY, "ca.key"), (SERVING, "tls.key")]
)
def test_a_damaged_secret_is_made_anew(cluster: FakeCluster, secret: ObjectRef, name: str) -> None:
    before = ensure(cluster, INSTALLATION, NOW)
    cluster.patch(secret, {"data": {name: base64.b64encode(b"x").decode()}})
    found = ensure(cluster, INSTALLATION, NOW)
    assert found.pair is not None
    assert is_trusted(found.pair, found.issuer.trust, NOW)
    assert (found.issuer != before.issuer, found.pair != before.pair) == (
        secret == AUTHORITY,
        secret == SERVING,
    )


def test_nothing_is_served_before_the_api_server_is_told_of_the_webhook(
    cluster: FakeCluster,
) -> None:
    webhooks = cluster.get(VALIDATING)["webhooks"]
    cluster.delete(VALIDATING)
    early = ensure(cluster, INSTALLATION, NOW)
    assert (early.absent, early.pair) == ((VALIDATING,), None)
    cluster.create(VALIDATING, {"metadata": {}, "webhooks": webhooks})
    pair = ensure(cluster, INSTALLATION, NOW).pair
    assert pair is not None
    cluster.delete(VALIDATING)
    assert ensure(cluster, INSTALLATION, NOW).pair == pair, "what was served is served on"
    later = ensure(cluster, INSTALLATION, NOW + timedelta(days=300)).pair
    assert later not in (None, pair), "and renewed"


def test_missing_secrets_are_created(cluster: FakeCluster) -> None:
    for secret in (AUTHORITY, SERVING):
        cluster.delete(secret)
    installed = ensure(cluster, INSTALLATION, NOW)
    assert (installed.issuer, installed.pair) == (kept(cluster).issuer, kept(cluster).pair)


class WithoutCreate(FakeCluster):
    """A cluster in which no Secret may be created."""

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        del manifest, dry_run
        raise Forbidden(f"may not create {target.kind}", 403)


def test_a_missing_secret_that_may_not_be_created_says_what_to_apply() -> None:
    what = "no Secret edl-system/edl-webhook-authority.*; apply the installation again"
    with pytest.raises(CertificateError, match=what):
        ensure(WithoutCreate(lambda: NOW), INSTALLATION, NOW)


class Meeting(FakeCluster):
    """Processes wait for each other before their first write of the authority."""

    def __init__(self, parties: int) -> None:
        super().__init__(lambda: NOW)
        self._barrier = Barrier(parties)
        self.refused: list[Conflict] = []

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        if target == AUTHORITY and body["data"].get("ca.key"):
            self._barrier.wait(timeout=20)
        try:
            return super().patch(target, body, dry_run=dry_run)
        except Conflict as conflict:
            self.refused.append(conflict)
            raise


def test_processes_that_begin_together_agree_on_one_authority() -> None:
    cluster = Meeting(parties=4)
    as_shipped(cluster)
    with ThreadPoolExecutor(4) as processes:
        found = list(processes.map(lambda _: ensure(cluster, INSTALLATION, NOW), range(4)))
    assert {installed.issuer for installed in found} == {kept(cluster).issuer}
    assert trusted(cluster, MUTATING) == trusted(cluster, VALIDATING) == {kept(cluster).trust}
    assert is_trusted(kept(cluster).pair, kept(cluster).trust, NOW)
    assert len(cluster.refused) >= 3


def test_an_authority_that_is_deleted_stays_trusted(cluster: FakeCluster) -> None:
    old = ensure(cluster, INSTALLATION, NOW).issuer
    cluster.delete(AUTHORITY)
    new = ensure(cluster, INSTALLATION, NOW).issuer
    assert new.authority != old.authority
    assert trusted(cluster, MUTATING) == {new.authority.certificate + old.authority.certificate}


class Overtaken(FakeCluster):
    """Between our reading of the Secret and our writing of the trust, an administrator rotates."""

    behind = False

    def get(self, target: ObjectRef) -> Json:
        found = super().get(target)
        if target == AUTHORITY and self.behind:
            self.behind = False
            rotate(self, INSTALLATION, NOW)
        return found


def test_an_overtaken_writer_never_restores_an_older_ca_bundle() -> None:
    cluster = Overtaken(lambda: NOW)
    as_shipped(cluster)
    ensure(cluster, INSTALLATION, NOW)
    for target in (MUTATING, VALIDATING):
        webhooks = [each | {"clientConfig": {}} for each in cluster.get(target)["webhooks"]]
        cluster.patch(target, {"webhooks": webhooks})  # so that there is something to write
    cluster.behind = True
    found = ensure(cluster, INSTALLATION, NOW)
    assert not cluster.behind, "it was overtaken"
    assert found.issuer.overlaps
    assert trusted(cluster, MUTATING) == trusted(cluster, VALIDATING) == {kept(cluster).trust}


def test_rotating_publishes_an_authority_and_serves_on_what_the_old_one_signed(
    cluster: FakeCluster,
) -> None:
    old = ensure(cluster, INSTALLATION, NOW)
    new = rotate(cluster, INSTALLATION, NOW)
    assert new.pair == old.pair == kept(cluster).pair
    assert trusted(cluster, VALIDATING) == {new.issuer.trust}
    assert each_certificate(new.issuer.trust)[1:] == each_certificate(old.issuer.trust)


def test_rotating_again_and_again_never_drops_the_authority_of_the_served_pair(
    cluster: FakeCluster,
) -> None:
    served = ensure(cluster, INSTALLATION, NOW).issuer.authority.certificate
    for _ in range(MAX_PREDECESSORS):
        rotate(cluster, INSTALLATION, NOW)
    with pytest.raises(CertificateError, match="was replaced 7 times already"):
        rotate(cluster, INSTALLATION, NOW)
    (trust,) = trusted(cluster, VALIDATING)
    assert served in each_certificate(trust)


def test_when_every_replica_serves_the_successors_pair_one_authority_is_trusted(
    cluster: FakeCluster,
) -> None:
    ensure(cluster, INSTALLATION, NOW)
    new = rotate(cluster, INSTALLATION, NOW).issuer.authority.certificate
    ensure(cluster, INSTALLATION, NOW, progress=TrustProgress(settled=new))
    assert is_signed_by(kept(cluster).pair.certificate, new)
    ensure(cluster, INSTALLATION, NOW, progress=TrustProgress(settled=new, served=new))
    assert trusted(cluster, VALIDATING) == {new}


def test_renewing_replaces_the_pair_where_clients_know_its_authority(cluster: FakeCluster) -> None:
    old = ensure(cluster, INSTALLATION, NOW)
    new = renew(cluster, INSTALLATION, NOW)
    assert new.issuer == old.issuer
    assert new.pair == kept(cluster).pair != old.pair
    rotate(cluster, INSTALLATION, NOW)
    assert renew(cluster, INSTALLATION, NOW).pair == new.pair, "the leader replaces it soon"


def test_what_is_by_an_address_is_certified_for_it() -> None:
    names = usual("edl.example.test", "10.0.0.1").names
    assert names.dns == (*NAMES.dns, "edl.example.test")
    assert names.ips == ("10.0.0.1",)


@pytest.mark.parametrize("text", ["", "edl-webhook-tls", "/x", "a/", "a/b/c"])
def test_what_names_no_secret_is_refused(text: str) -> None:
    with pytest.raises(CertificateError, match="write NAMESPACE/NAME"):
        secret_target(text)
