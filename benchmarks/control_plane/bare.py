"""A bare pool of clients: threads that only patch `suspend: false`, each on its own connection.

It costs less than any controller can: it reads, decides and decodes nothing.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from edl.kube.auth.credentials import ClientConfig, log_in

_HEADERS: Final = {"Content-Type": "application/merge-patch+json", "Accept": "application/json"}
_BODY: Final = b'{"spec":{"suspend":false}}'


def release(kubeconfig: Path, namespace: str, names: Sequence[str], threads: int) -> None:
    """Unsuspend the named Jobs, in order."""
    login = log_in(str(kubeconfig), None, {})
    parts = [(login, namespace, names[first::threads]) for first in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(_release, parts))


def _release(part: tuple[ClientConfig, str, Sequence[str]]) -> None:
    login, namespace, names = part
    address = urlsplit(login.server)
    context = login.pool.connection_pool_kw["ssl_context"]
    connection = HTTPSConnection(address.hostname or "", address.port, context=context)
    for name in names:
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        connection.request("PATCH", path, _BODY, _HEADERS)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{name}: {said.decode()}")
    connection.close()
