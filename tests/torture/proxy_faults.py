"""What a proxy does to a request: refuses it, keeps it, or delays it."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.torture.proxy import Exchange
from tests.torture.wire import Vanished

_REASONS: Final[Mapping[int, str]] = {
    409: "Conflict",
    429: "TooManyRequests",
    500: "InternalError",
}
_LONGEST_HOLD: Final = 60.0
_LATE: Final = 3.0
"""Seconds after the client gave up: another leader may have decided meanwhile."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer as the API server gives it, without having been asked. `retry_after`: seconds."""

    status: int
    retry_after: int | None = None

    async def strike(self, exchange: Exchange) -> str:
        headers = () if self.retry_after is None else (("Retry-After", str(self.retry_after)),)
        await exchange.answer(self.status, _status(self.status), headers)
        return f"answered {self.status}"


@dataclass(frozen=True, slots=True)
class Silence:
    """No answer for `hold` seconds, and then a broken connection.

    `asks` is the server asked "never", "first" (it does what was asked, and nobody hears of it),
    or "late": when the client has given up, seconds after others may have decided.
    """

    hold: float
    asks: str = "never"

    async def strike(self, exchange: Exchange) -> str:
        if self.asks == "first":
            await self._ask(exchange)
        await _until_gone(exchange, self.hold)
        gave_up = exchange.client.gone
        exchange.client.abort()
        if self.asks == "late":
            await asyncio.sleep(min(self.hold, _LATE))
            await self._ask(exchange)
        return f"{'gave up' if gave_up else 'cut off'} unanswered, the server was asked {self.asks}"

    async def _ask(self, exchange: Exchange) -> None:
        """The server does it whole, and its answer is thrown away."""
        with contextlib.suppress(OSError):
            server = await exchange.ask()
            try:
                await server.next()
            finally:
                server.abort()


@dataclass(frozen=True, slots=True)
class Delay:
    """Passed on after so many seconds, if the client has waited so long."""

    seconds: float

    async def strike(self, exchange: Exchange) -> str:
        await _until_gone(exchange, self.seconds)
        if exchange.client.gone:
            return f"gave up within {self.seconds:.1f} s"
        await exchange.forward()
        return f"answered after {self.seconds:.1f} s"


async def _until_gone(exchange: Exchange, seconds: float) -> None:
    """The client is there until it has seen enough of nothing."""
    if exchange.client.gone:
        raise Vanished("the client is gone")
    with contextlib.suppress(OSError):  # among them TimeoutError
        async with asyncio.timeout(min(seconds, _LONGEST_HOLD)):
            await exchange.client.closed()


def _status(code: int) -> bytes:
    """The Status that the API server sends with such an answer."""
    reason = _REASONS[code]
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"injected: {reason}",
        "reason": reason,
        "code": code,
    }
    return json.dumps(status).encode()
