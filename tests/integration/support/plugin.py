"""What the plugin prints, for tests that look often: a process would take half a second a look."""

import io
import os
from dataclasses import replace

from kubectl_edl.main import run, this_process
from sandbox.existing import Cluster


def printed(cluster: Cluster, *args: str) -> str:
    """The output of `kubectl edl ARGS` with an admin's rights, made in this process."""
    out, err = io.StringIO(), io.StringIO()
    cli = replace(this_process(), out=out, err=err)
    code = run([*args, "--kubeconfig", str(cluster.kubeconfig)], cli, os.environ)
    assert code == 0, err.getvalue()
    return out.getvalue()
