"""Logins that take more than a file: by the kubernetes package, slow to import."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import load_kube_config

from edl.errors import Unreachable
from edl.kube.kubeconfig import Chosen
from edl.kube.login import POOL_SIZE, Login


def log_in(chosen: Chosen) -> Login:
    """By exec plugin, auth provider or password, through a proxy if there is one.

    Raises Unreachable, also later where a credential plugin gives nothing new in time.
    """
    configuration = Configuration()
    configuration.connection_pool_maxsize = POOL_SIZE
    configuration.keep_alive = True
    try:
        with _overheard() as said:
            load_kube_config(  # type: ignore[no-untyped-call]
                chosen.path, chosen.context, configuration, persist_config=False
            )
    except (ConfigException, OSError, ValueError) as error:
        raise Unreachable(
            f"context {chosen.context} in {chosen.path} cannot log in: {error}"
        ) from error
    credentials = configuration.api_key or configuration.cert_file
    if "exec" in chosen.user and (said or not credentials):
        raise _no_credentials(chosen, said)
    return Login(
        server=configuration.host,
        namespace=chosen.namespace,
        pool=RESTClientObject(configuration).pool_manager,
        authorization=lambda: _authorization(configuration, chosen),
    )


def _authorization(configuration: Configuration, chosen: Chosen) -> str | None:
    """The package renews what has expired, and goes on with the old where that fails."""
    with _overheard() as said:
        settings = configuration.auth_settings()
    if said and "exec" in chosen.user:
        raise _no_credentials(chosen, said)
    return settings["BearerToken"]["value"] if "BearerToken" in settings else None


def _no_credentials(chosen: Chosen, said: list[str]) -> Unreachable:
    plugin = chosen.user["exec"]
    fields = plugin if isinstance(plugin, dict) else {}
    way_out = fields.get("installHint") or "log in with it, or install it, until kubectl works"
    # On a terminal the plugin has spoken for itself, and the package stumbles over that.
    heard = [text for text in said if "NoneType" not in text]
    why = " ".join("; ".join(heard).split()) or "it failed"
    return Unreachable(
        f"context {chosen.context}: its credential plugin {fields.get('command')} gave no "
        f"credentials: {why}; {' '.join(str(way_out).split())}"
    )


@contextmanager
def _overheard() -> Iterator[list[str]]:
    """What this thread logs meanwhile, unprinted: so alone the package tells that a plugin failed.

    logging.error gives a logger without handlers one for good, so it has one.
    """
    said: list[str] = []
    thread, quiet, root = threading.get_ident(), logging.NullHandler(), logging.getLogger()

    def keep_back(record: logging.LogRecord) -> bool:
        if record.thread != thread:
            return True
        said.append(record.getMessage())
        return False

    root.addHandler(quiet)
    root.addFilter(keep_back)
    try:
        yield said
    finally:
        root.removeFilter(keep_back)
        root.removeHandler(quiet)
