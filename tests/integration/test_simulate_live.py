"""What-if on a real cluster: the plugin goes on from what the API server says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.integration.support.stage import elastic
from tests.integration.test_plugin import Shell, running

if TYPE_CHECKING:
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration


def test_more_nodes_or_a_larger_max_show_which_jobs_would_start_and_grow(installed: Stage) -> None:
    shell = Shell(installed.cluster, installed.namespace)
    # Four nodes of 8 cores: 4 pods of 2 run, and a pod of 12 cores fits nowhere.
    shell.apply(elastic("sweep", "2", {"min": "1", "max": "4"}, parallelism=1))
    shell.until("sweep", running(4))
    shell.apply(elastic("large", "12", {"min": "1", "max": "1"}, parallelism=1))
    shell.until("large", lambda now: now["phase"] == "Queued")

    changes = ("--add-nodes", "1", "--like", "cpu=16,memory=64Gi", "--set", "job/sweep.max=6")
    found = shell.edl("simulate", "--live", *changes, "-o", "json")
    assert found.returncode == 0, found.stderr
    items = {one["metadata"]["name"]: one for one in json.loads(found.stdout)["items"]}
    runs = {name: {run["name"]: run for run in one["runs"]} for name, one in items.items()}

    assert items["sweep"]["roles"] == [{"name": "worker", "replicas": 4}]
    assert [role["replicas"] for role in runs["sweep"]["as-is"]["roles"]] == [4]
    assert [role["replicas"] for role in runs["sweep"]["what-if"]["roles"]] == [6]
    assert runs["large"]["as-is"]["startSeconds"] is None
    assert runs["large"]["what-if"]["startSeconds"] < 60
    # Nothing of it has happened.
    assert shell.status("sweep")["roles"][0]["maxReplicas"] == 4
