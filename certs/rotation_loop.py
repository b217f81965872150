"""Rotates the authority; a single process does so, the leader."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from certs.issue import LIFETIMES, Lifetimes
from certs.rotation_steps import TrustProgress
from certs.secrets import Installation, Installed, ensure
from certs.verify import is_signed_by
from edl.kube.cluster import Cluster

SETTLES: Final = timedelta(seconds=10)
"""The time within which every API server has seen a change of its webhook configurations."""
_COMES: Final = timedelta(minutes=1)
"""The time to wait for a missing configuration; after that it no longer blocks the rotation."""
_RETIRES: Final = timedelta(hours=1)
_SHARE_OF_LIFE: Final = 10


class RotationTimings(msgspec.Struct, frozen=True):
    """The pace of a rotation.

    A new authority begins to sign `settles` after it was published. Once a certificate that it
    signed has been served for `retires`, no replica serves an older one, not even one that reads a
    volume, which a kubelet updates within some minutes.
    """

    lifetimes: Lifetimes = LIFETIMES
    settles: timedelta = SETTLES

    @property
    def retires(self) -> timedelta:
        return self.settles + min(_RETIRES, self.lifetimes.authority / _SHARE_OF_LIFE)


_USUAL_PACE: Final = RotationTimings()


class CertificateRotation:
    """Each call maintains the certificates of an installation, and takes the step that is due.

    How long something has been published is measured by this process, from when it saw it: clocks
    of two machines are never compared, and a new leader begins anew.
    """

    def __init__(
        self,
        cluster: Cluster,
        installation: Installation,
        pace: RotationTimings = _USUAL_PACE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._installation = installation
        self._pace = pace
        self._published = _Seen(monotonic)
        self._served = _Seen(monotonic)
        self._absent = _Seen(monotonic)

    def __call__(self, now: datetime) -> Installed:
        """Takes one step. Raises ClusterError and CertificateError."""
        progress = TrustProgress(
            settled=self._published.longer_than(self._pace.settles),
            served=self._served.longer_than(self._pace.retires),
            alone=bool(self._absent.longer_than(_COMES)),
        )
        lifetimes = self._pace.lifetimes
        installed = ensure(self._cluster, self._installation, now, lifetimes, progress)
        authority, pair = installed.issuer.authority.certificate, installed.pair
        self._published.see(authority)
        signed = pair is not None and is_signed_by(pair.certificate, authority)
        self._served.see(authority if signed else b"")
        self._absent.see(" ".join(target.kind for target in installed.absent).encode())
        return installed


class _Seen:
    """A value, and since when it has been the same, in monotonic seconds of this process."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._value = b""
        self._since = 0.0

    def see(self, value: bytes) -> None:
        if value != self._value:
            self._value, self._since = value, self._monotonic()

    def longer_than(self, wait: timedelta) -> bytes:
        """The value once it has been the same for `wait`; empty before."""
        age = timedelta(seconds=self._monotonic() - self._since)
        return self._value if age >= wait else b""
