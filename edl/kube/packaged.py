"""Logins that take more than a file: by the kubernetes package, slow to import."""

from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import load_kube_config

from edl.errors import Unreachable
from edl.kube.kubeconfig import Chosen
from edl.kube.login import POOL_SIZE, Login


def log_in(chosen: Chosen) -> Login:
    """By exec plugin, auth provider or password, through a proxy if there is one."""
    configuration = Configuration()
    configuration.connection_pool_maxsize = POOL_SIZE
    configuration.keep_alive = True
    try:
        load_kube_config(  # type: ignore[no-untyped-call]
            chosen.path, chosen.context, configuration, persist_config=False
        )
    except (ConfigException, OSError, ValueError) as error:
        raise Unreachable(
            f"context {chosen.context} in {chosen.path} cannot log in: {error}"
        ) from error
    return Login(
        server=configuration.host,
        namespace=chosen.namespace,
        pool=RESTClientObject(configuration).pool_manager,
        authorization=lambda: _authorization(configuration),
    )


def _authorization(configuration: Configuration) -> str | None:
    settings = configuration.auth_settings()
    return settings["BearerToken"]["value"] if "BearerToken" in settings else None
