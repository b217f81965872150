import pytest

from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.stage import Stage, job, mnist


@pytest.mark.parametrize(
    "command",
    ["history urgent", "top", "scale mnist --remove worker-3 --dry-run=server", "pause mnist -y"],
)
def test_commands_that_use_no_priorities_do_without_them(command: str) -> None:
    stage = Stage()
    mnist(stage)
    manifest = job("urgent", framework="none", min="1", max="2")
    manifest["spec"]["template"]["spec"]["priorityClassName"] = "high"
    stage.put(manifest)
    stage.wrapped = fenced("PriorityClass")
    found = stage.run(*command.split())
    assert (found.code, "priorities" in found.err) == (0, False)
