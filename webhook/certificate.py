"""The serving certificate: where it comes from, and one TLS context that always has the newest."""

import ssl
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from certs import directory as files_in
from certs.bundle import CERTIFICATE, KEY, CertificateError, Pair
from certs.installation import Installation, ensure
from certs.issue import LIFETIMES, Lifetimes
from certs.verify import facts_of, is_trusted, pair_problem
from edl.kube.cluster import Cluster

SETTLES: Final = timedelta(seconds=10)
"""After that every API server has heard of a change of its webhook configurations."""
_RETIRES: Final = timedelta(hours=1)
_SHARE_OF_LIFE: Final = 10


class Offer(msgspec.Struct, frozen=True):
    """What to serve with. While it is not `settled` some client may not trust `pair` yet.

    Then whoever serves goes on as he does, and whoever begins takes `previous`, if there is one.
    `trust` is what clients are told to trust; empty where that is somebody else's care. `unknown`
    names webhook configurations that do not exist, and so tell nobody.
    """

    pair: Pair
    previous: Pair | None = None
    trust: bytes = b""
    settled: bool = True
    unknown: tuple[str, ...] = ()

    def chosen(self, serving: Pair | None, now: datetime) -> Pair:
        """The pair to serve with from now on."""
        if self.settled:
            return self.pair
        known = (pair for pair in (serving, self.previous) if pair)
        return next((pair for pair in known if is_trusted(pair, self.trust, now)), self.pair)


Source: TypeAlias = Callable[[datetime], Offer]
"""Reads what there is to serve with now; raises CertificateError or ClusterError."""


def from_directory(directory: Path) -> Source:
    """`tls.crt` and `tls.key` of a directory, as `certs issue` or a mounted Secret has them."""

    def read(now: datetime) -> Offer:
        del now
        files = files_in.read(directory, (CERTIFICATE, KEY))
        if missing := [name for name in (CERTIFICATE, KEY) if name not in files]:
            raise CertificateError(f"{directory}: {' and '.join(missing)} missing")
        return Offer(Pair(files[CERTIFICATE], files[KEY]))

    return read


class Pace(msgspec.Struct, frozen=True):
    """How fast one authority follows another.

    `settles` after it was published it is served with; when it `retires` its predecessor nobody
    can be serving with that any more.
    """

    lifetimes: Lifetimes = LIFETIMES
    settles: timedelta = SETTLES

    @property
    def retires(self) -> timedelta:
        return self.settles + min(_RETIRES, self.lifetimes.authority / _SHARE_OF_LIFE)


_USUAL_PACE: Final = Pace()


class FromCluster:
    """A Secret's pair. Each reading also keeps the Secret good and the configurations trusting.

    How long an authority has been published is counted by this process from when it saw it: the
    clocks of two machines are never compared, and nothing is to be agreed upon.
    """

    def __init__(
        self,
        cluster: Cluster,
        installation: Installation,
        pace: Pace = _USUAL_PACE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._installation = installation
        self._pace = pace
        self._monotonic = monotonic
        self._authority = b""
        self._seen_at = 0.0

    def __call__(self, now: datetime) -> Offer:
        settled = self._authority if self._age() >= self._pace.retires else b""
        lifetimes = self._pace.lifetimes
        installed = ensure(self._cluster, self._installation, now, lifetimes, settled)
        bundle = installed.bundle
        if bundle.authority.certificate != self._authority:
            self._authority, self._seen_at = bundle.authority.certificate, self._monotonic()
        settled_now = not bundle.overlaps or self._age() >= self._pace.settles
        unknown = tuple(f"{target.kind} {target.name}" for target in installed.absent)
        return Offer(bundle.pair, bundle.previous, bundle.trust, settled_now, unknown)

    def _age(self) -> timedelta:
        return timedelta(seconds=self._monotonic() - self._seen_at)


class Loaded(msgspec.Struct, frozen=True):
    """What is served with."""

    pair: Pair
    ends: datetime


class ServingCertificate:
    """One TLS context. `load` changes it in place: open connections go on, new ones get the new."""

    def __init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.loaded: Loaded | None = None
        self._unknown: tuple[str, ...] | None = None

    def load(self, pair: Pair, now: datetime) -> bool:
        """Serve with `pair` from now on; False when it is the one that is loaded already.

        Raises CertificateError, with the old pair still in place, for one that is no good.
        """
        if self.loaded is not None and self.loaded.pair == pair:
            return False
        # First, because a context that was handed a pair that does not match has lost the old key.
        if problem := pair_problem(pair, now):
            raise CertificateError(problem)
        _load(self.context, pair)
        self.loaded = Loaded(pair, facts_of(pair.certificate).ends)
        return True

    def told(self, unknown: tuple[str, ...]) -> None:
        """Who does not tell the API server to trust us. Once all did, that is no more a problem.

        Somebody who takes one configuration away for a while must not stop what the other does.
        """
        if self._unknown != ():
            self._unknown = unknown

    def problem(self, now: datetime) -> str:
        """Why no client would accept it now; empty when one would."""
        if self.loaded is None:
            return "no certificate is loaded"
        if now >= self.loaded.ends:
            return "the certificate has expired"
        return f"no {' and no '.join(self._unknown)} yet" if self._unknown else ""


def _load(context: ssl.SSLContext, pair: Pair) -> None:
    # OpenSSL reads files only. In a pod the temporary directory is memory.
    with tempfile.TemporaryDirectory(prefix="edl-webhook-") as name:
        directory = Path(name)
        files_in.write(directory, {CERTIFICATE: pair.certificate, KEY: pair.key})
        try:
            context.load_cert_chain(directory / CERTIFICATE, directory / KEY)
        except ssl.SSLError as error:
            raise CertificateError(f"TLS cannot use the certificate: {error}") from error
