"""The auth providers of old kubeconfigs, which the kubernetes package implements."""

from collections.abc import Callable

from kubernetes.client.configuration import Configuration
from kubernetes.config.kube_config import load_kube_config

from edl.errors import Unreachable
from edl.kube.auth.kubeconfig import SelectedContext


def authorization(chosen: SelectedContext) -> Callable[[], str | None]:
    """A function that returns the current Authorization header; the package renews the token.

    Raises Unreachable for a provider that the package does not know, or that fails.
    """
    configuration = Configuration()
    failed = f"context {chosen.context} in {chosen.path} cannot log in by its auth provider"
    try:
        load_kube_config(  # type: ignore[no-untyped-call]
            chosen.path, chosen.context, configuration, persist_config=False
        )
    except Exception as error:  # providers raise errors of their own libraries
        raise Unreachable(f"{failed}: {' '.join(str(error).split())}") from error
    if not configuration.api_key:
        raise Unreachable(f"{failed}: only oidc and gcp are known")

    def renewed() -> str | None:
        bearer = configuration.auth_settings().get("BearerToken")
        return str(bearer["value"]) if bearer else None

    return renewed
