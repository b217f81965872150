import base64
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest

from certs.bundle import Bundle, CertificateError, from_files, service_names, to_files
from certs.installation import (
    WEBHOOK_KINDS,
    Installation,
    ensure,
    rotate,
    secret_target,
    store,
)
from certs.issue import issue
from certs.verify import bundle_problem
from edl.errors import Conflict, Forbidden
from edl.kube.fake import FakeCluster
from edl.model import Target
from edl.writes import Json

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
NAMES = service_names("edl-webhook", "edl-system")
SECRET = Target("Secret", "edl-system", "edl-webhook-tls")
MUTATING, VALIDATING = (Target(kind, "", "edl") for kind in WEBHOOK_KINDS)
INSTALLATION = Installation(SECRET, ("edl",), NAMES)


def as_shipped(cluster: FakeCluster) -> FakeCluster:
    """The empty Secret and the configurations as the manifests bring them."""
    cluster.create(SECRET, {"metadata": {}, "type": "Opaque"})
    for target in (MUTATING, VALIDATING):
        service = {"service": {"namespace": "edl-system", "name": "edl-webhook"}}
        webhooks = [{"name": name, "clientConfig": service} for name in ("jobs", "pods")]
        cluster.create(target, {"metadata": {}, "webhooks": webhooks})
    return cluster


@pytest.fixture
def cluster() -> FakeCluster:
    return as_shipped(FakeCluster(lambda: NOW))


def kept(cluster: FakeCluster) -> Bundle:
    data: dict[str, str] = cluster.get(SECRET)["data"]
    return from_files({name: base64.b64decode(text) for name, text in data.items()})


def trusted(cluster: FakeCluster, target: Target) -> set[bytes]:
    webhooks = cluster.get(target)["webhooks"]
    return {base64.b64decode(each["clientConfig"]["caBundle"]) for each in webhooks}


def test_an_empty_secret_is_filled_and_every_webhook_trusts_it(cluster: FakeCluster) -> None:
    installed = ensure(cluster, INSTALLATION, NOW)
    assert bundle_problem(kept(cluster), NAMES, NOW) == ""
    assert kept(cluster) == installed.bundle
    assert trusted(cluster, MUTATING) == trusted(cluster, VALIDATING) == {installed.bundle.trust}


def test_the_rest_of_a_webhook_stays_as_it_is(cluster: FakeCluster) -> None:
    ensure(cluster, INSTALLATION, NOW)
    first = cluster.get(MUTATING)["webhooks"][0]
    assert first["name"] == "jobs"
    assert first["clientConfig"]["service"] == {"namespace": "edl-system", "name": "edl-webhook"}


def test_ensuring_again_writes_nothing(cluster: FakeCluster) -> None:
    ensure(cluster, INSTALLATION, NOW)
    before = [cluster.get(target) for target in (SECRET, MUTATING, VALIDATING)]
    ensure(cluster, INSTALLATION, NOW + timedelta(days=1))
    assert [cluster.get(target) for target in (SECRET, MUTATING, VALIDATING)] == before


def test_a_trust_that_somebody_removed_is_put_back(cluster: FakeCluster) -> None:
    bundle = ensure(cluster, INSTALLATION, NOW).bundle
    cluster.patch(VALIDATING, {"webhooks": [{"name": "jobs", "clientConfig": {}}]})
    ensure(cluster, INSTALLATION, NOW)
    assert trusted(cluster, VALIDATING) == {bundle.trust}


def test_a_damaged_secret_is_made_anew(cluster: FakeCluster) -> None:
    ensure(cluster, INSTALLATION, NOW)
    cluster.patch(SECRET, {"data": {"ca.crt": base64.b64encode(b"x").decode()}})
    ensure(cluster, INSTALLATION, NOW)
    assert bundle_problem(kept(cluster), NAMES, NOW) == ""


def test_configurations_that_do_not_exist_yet_are_named(cluster: FakeCluster) -> None:
    cluster.delete(VALIDATING)
    assert ensure(cluster, INSTALLATION, NOW).absent == (VALIDATING,)
    assert bundle_problem(kept(cluster), NAMES, NOW) == ""


def test_a_missing_secret_is_created(cluster: FakeCluster) -> None:
    cluster.delete(SECRET)
    assert ensure(cluster, INSTALLATION, NOW).bundle == kept(cluster)


class WithoutCreate(FakeCluster):
    """A cluster under the webhook's own rights."""

    def create(self, target: Target, manifest: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        del manifest, dry_run
        raise Forbidden(f"may not create {target.kind}", 403)


def test_a_missing_secret_that_may_not_be_created_says_what_to_apply() -> None:
    with pytest.raises(CertificateError, match=r"no Secret edl-system/edl-webhook-tls.*apply"):
        ensure(WithoutCreate(lambda: NOW), INSTALLATION, NOW)


class Meeting(FakeCluster):
    """Replicas wait for each other before their first write of the Secret."""

    def __init__(self, parties: int) -> None:
        super().__init__(lambda: NOW)
        self._barrier = Barrier(parties)
        self.refused: list[Conflict] = []

    def patch(self, target: Target, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        if target == SECRET:
            self._barrier.wait(timeout=20)
        try:
            return super().patch(target, body, dry_run=dry_run)
        except Conflict as conflict:
            self.refused.append(conflict)
            raise


def test_replicas_that_start_together_agree_on_one_authority() -> None:
    cluster = Meeting(parties=4)
    as_shipped(cluster)
    with ThreadPoolExecutor(4) as replicas:
        found = list(replicas.map(lambda _: ensure(cluster, INSTALLATION, NOW), range(4)))
    assert len({installed.bundle.trust for installed in found}) == 1
    assert trusted(cluster, MUTATING) == trusted(cluster, VALIDATING) == {kept(cluster).trust}
    assert len(cluster.refused) == 3


def test_renewal_leaves_the_trust_of_the_other_replica_alone(cluster: FakeCluster) -> None:
    old = ensure(cluster, INSTALLATION, NOW).bundle
    new = ensure(cluster, INSTALLATION, NOW + timedelta(days=300)).bundle
    assert new.pair != old.pair
    assert trusted(cluster, MUTATING) == {old.trust}


def test_a_secret_that_is_deleted_takes_nobodys_trust_away(cluster: FakeCluster) -> None:
    old = ensure(cluster, INSTALLATION, NOW).bundle
    cluster.delete(SECRET)
    new = ensure(cluster, INSTALLATION, NOW).bundle
    assert new.authority != old.authority
    assert trusted(cluster, MUTATING) == {new.authority.certificate + old.authority.certificate}


class Overtaken(FakeCluster):
    """Between our reading of the Secret and our writing of the trust, another replica rotates."""

    behind = False

    def get(self, target: Target) -> Json:
        found = super().get(target)
        if target == SECRET and self.behind:
            self.behind = False
            rotate(self, INSTALLATION, NOW)
        return found


def test_who_was_overtaken_never_puts_an_older_trust_back() -> None:
    cluster = Overtaken(lambda: NOW)
    as_shipped(cluster)
    ensure(cluster, INSTALLATION, NOW)
    for target in (MUTATING, VALIDATING):
        webhooks = [each | {"clientConfig": {}} for each in cluster.get(target)["webhooks"]]
        cluster.patch(target, {"webhooks": webhooks})  # so that there is something to write
    cluster.behind = True
    found = ensure(cluster, INSTALLATION, NOW)
    assert not cluster.behind, "it was overtaken"
    assert found.bundle.overlaps
    assert trusted(cluster, MUTATING) == trusted(cluster, VALIDATING) == {kept(cluster).trust}


def test_when_all_know_the_successor_the_secret_holds_one_authority_again(
    cluster: FakeCluster,
) -> None:
    ensure(cluster, INSTALLATION, NOW)
    new = rotate(cluster, INSTALLATION, NOW).bundle
    assert "previous.crt" in cluster.get(SECRET)["data"]
    ensure(cluster, INSTALLATION, NOW, settled=new.authority.certificate)
    assert "previous.crt" not in cluster.get(SECRET)["data"]
    assert trusted(cluster, VALIDATING) == {new.authority.certificate}


def test_a_bundle_of_ones_own_replaces_what_was_there(cluster: FakeCluster) -> None:
    ensure(cluster, INSTALLATION, NOW)
    own = issue(NAMES, NOW)
    store(cluster, INSTALLATION, own)
    assert to_files(kept(cluster)) == to_files(own)
    assert trusted(cluster, MUTATING) == {own.trust}


@pytest.mark.parametrize("text", ["", "edl-webhook-tls", "/x", "a/", "a/b/c"])
def test_what_names_no_secret_is_refused(text: str) -> None:
    with pytest.raises(CertificateError, match="write NAMESPACE/NAME"):
        secret_target(text)
