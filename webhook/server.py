"""The server: uvicorn around the app, with our TLS context and an end that loses nothing."""

import asyncio
import gc
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import FrameType
from typing import Final
from wsgiref.types import WSGIApplication

import uvicorn
import uvloop

from webhook.app import LIMIT
from webhook.certificate import ServingCertificate
from webhook.inline import Inline
from webhook.keeper import Keeper

KEEP_ALIVE_SECONDS: Final = 120
"""Above the 90 s after which Go's client drops an idle connection: the server is never first."""

_GRACE_SECONDS: Final = 10
_TICK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to listen, how often to look for a new certificate, how long to wait at the end.

    `drain`: for so long after the signal readiness is refused while requests are still answered,
    until the Service's endpoints have changed on every node.
    """

    host: str
    port: int
    refresh: timedelta = timedelta(seconds=10)
    drain: timedelta = timedelta(seconds=5)


class Lifecycle:
    """Whether traffic should come: `problem` tells what else is missing, empty for nothing."""

    def __init__(
        self,
        certificate: ServingCertificate,
        clock: Callable[[], datetime],
        problem: Callable[[], str] = str,
    ) -> None:
        self.certificate = certificate
        self.closing = False
        self._clock = clock
        self._problem = problem

    def unready(self) -> str:
        """Why no traffic should come; empty when it should."""
        if self.closing:
            return "shutting down"
        return self.certificate.problem(self._clock()) or self._problem()


class _Server(uvicorn.Server):
    """A first signal turns traffic away gently, a second one ends at once."""

    def __init__(self, config: uvicorn.Config, lifecycle: Lifecycle, drain: timedelta) -> None:
        super().__init__(config)
        self._lifecycle = lifecycle
        self._drain = drain

    async def main_loop(self) -> None:
        await super().main_loop()
        self._lifecycle.closing = True
        for _ in range(round(self._drain.total_seconds() / _TICK_SECONDS)):
            if not self.force_exit:
                await asyncio.sleep(_TICK_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Not handed on: uvicorn would raise the signal again, and a graceful end has exit code 0.
        del sig, frame
        self.force_exit = self.should_exit
        self.should_exit = True


def serve(app: WSGIApplication, lifecycle: Lifecycle, keeper: Keeper, settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, then finish what has begun. The certificate is loaded."""
    config = uvicorn.Config(
        Inline(app, LIMIT, lambda: lifecycle.closing),
        host=settings.host,
        port=settings.port,
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_context_factory=lambda *_: lifecycle.certificate.context,
    )
    server = _Server(config, lifecycle, settings.drain)
    # Modules and the app stay for good: full collections, which pause every review, skip them.
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(server, keeper, settings.refresh))


async def _run(server: uvicorn.Server, keeper: Keeper, refresh: timedelta) -> None:
    keeping = asyncio.create_task(keeper.keep(refresh))
    try:
        await server.serve()
    finally:
        keeping.cancel()
