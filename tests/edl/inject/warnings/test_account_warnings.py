"""Pods that need rights, and run as an account of the user's choice."""

import pytest

from edl import contract
from edl.writes import Json
from tests.edl.manifests import create, created, horovod, job, pod


def said(manifest: Json) -> tuple[str, ...]:
    return tuple(text for text in create(manifest).warnings if "ServiceAccount" in text)


def bound(account: str, granted: str) -> str:
    return (
        f'ServiceAccount "{account}" needs {granted}, which kubectl-edl binds to its own accounts '
        f"alone: kubectl create rolebinding {account} -n lab --clusterrole={granted} "
        f"--serviceaccount=lab:{account}"
    )


@pytest.mark.parametrize("account", ["trainer", "default", "other-launcher"])
def test_a_launcher_with_an_own_account_is_told_how_to_bind_it(account: str) -> None:
    own = horovod("launcher", pod={"serviceAccountName": account})
    expected = f"{bound(account, contract.LAUNCHER_CLUSTER_ROLE)}, or leave serviceAccountName out"
    assert said(own) == (expected,)
    assert said(created(own)) == ()


@pytest.mark.parametrize("account", ["x; rm -rf ~", "$(id)", "a\x1b[31mb", "Trainer"])
def test_no_command_has_a_name_that_kubernetes_refuses(account: str) -> None:
    assert said(horovod("launcher", pod={"serviceAccountName": account})) == ()


@pytest.mark.parametrize("own_mark", [{}, {"injected-max": "9"}])
def test_a_bare_launcher_has_its_account_bound_by_its_user(own_mark: dict[str, str]) -> None:
    """A mark that the user wrote, which only completed Jobs have, changes nothing."""
    told = {"roles": "launcher=1,worker=2"} | own_mark
    own = {"serviceAccountName": "mnist-launcher"}
    bare = pod(framework="horovod", role="launcher", job="mnist", annotations=told, spec=own)
    assert said(bare) == (bound("mnist-launcher", contract.LAUNCHER_CLUSTER_ROLE),)


@pytest.mark.parametrize(
    "manifest",
    [
        horovod("launcher"),
        horovod("launcher", pod={"serviceAccountName": "mnist-launcher"}),
        horovod("launcher", annotations={"mode": "ssh"}, pod={"serviceAccountName": "trainer"}),
        horovod("worker", pod={"serviceAccountName": "trainer"}),
        job(framework="none", pod={"serviceAccountName": "trainer"}),
    ],
)
def test_others_need_no_rights(manifest: Json) -> None:
    assert said(manifest) == ()
