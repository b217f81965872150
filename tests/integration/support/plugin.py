"""What the plugin prints, for tests that look often: a process would take half a second a look."""

import io
import os
from collections.abc import Container
from dataclasses import replace
from datetime import timedelta

from kubectl_edl.main import run, this_process
from sandbox.cluster import Cluster


def printed(
    cluster: Cluster, *args: str, ahead: timedelta = timedelta(), codes: Container[int] = (0,)
) -> str:
    """The output of `kubectl edl ARGS` with an admin's rights, made in this process.

    `ahead`: of what this machine's clock says. `codes`: the exit codes that it may have.
    """
    out, err, usual = io.StringIO(), io.StringIO(), this_process()
    cli = replace(usual, out=out, err=err, now=lambda: usual.now() + ahead)
    code = run([*args, "--kubeconfig", str(cluster.kubeconfig)], cli, os.environ)
    assert code in codes, err.getvalue()
    return out.getvalue()
