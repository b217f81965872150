from threading import Event, Thread
from typing import TYPE_CHECKING, cast

from edl.kube.cluster import Log, LogRequest
from edl.model import ObjectRef
from kubectl_edl.logs.follow_logs import Reader
from tests.kubectl_edl.logs.test_logs import EndlessLog

if TYPE_CHECKING:
    from edl.kube.cluster import PluginCluster


def ignored(_: object) -> None:
    """What the log says."""


class OpeningReader(Reader):
    """Its log opens as soon as `close` has looked whether it is open."""

    def __getattribute__(self, name: str) -> object:
        value = super().__getattribute__(name)
        if name == "_log" and value is None and not opening.is_set():
            opening.set()
            reading = Thread(target=self._read, args=(ignored, ignored))
            reading.start()
            reading.join(60)
        return value


opening = Event()


class OneLog:
    def __init__(self, log: Log) -> None:
        self.log = lambda _wanted: log


def test_a_log_that_opens_while_it_is_being_closed_is_closed() -> None:
    log = EndlessLog()
    wanted = LogRequest(ObjectRef("Pod", "default", "mnist-ps-0-x0"), "main", follow=True)
    assert not OpeningReader(cast("PluginCluster", OneLog(log)), wanted).close()
    assert opening.is_set()
    assert log.closed.is_set()
