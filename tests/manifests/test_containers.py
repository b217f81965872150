"""Every container that is ours: nobody, read-only, without a shell."""

import re
from pathlib import Path

import pytest
import yaml

from edl.writes import Json
from manifests import installation, values

ROOT = Path(__file__).parents[2]
EVERYTHING = {
    "webhook": {"clientCertificate": {"enabled": True}},
    **{name: {"enabled": True} for name in ("networkPolicy", "certManager", "monitoring")},
}


def pods() -> list[Json]:
    found = [*installation.documents(), *installation.documents(values.read(EVERYTHING))]
    return [each["spec"]["template"]["spec"] for each in found if each["kind"] == "Deployment"]


CONTAINERS = [
    (pod, container)
    for pod in pods()
    for container in (*pod["containers"], *pod.get("initContainers", ()))
]


@pytest.mark.parametrize(("pod", "container"), CONTAINERS)
def test_a_container_runs_without_root_and_can_write_nothing(pod: Json, container: Json) -> None:
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert all("hostPath" not in volume for volume in pod["volumes"])


@pytest.mark.parametrize(("pod", "container"), CONTAINERS)
def test_no_container_needs_a_shell(pod: Json, container: Json) -> None:
    """Not to start, not for its probes, not to end."""
    assert "command" not in container, "the image's own entry point: python -m"
    assert container["args"][0] in ("webhook", "reconciler")
    assert "exec" not in str(container.get("lifecycle", ""))
    probes = [container[name] for name in container if name.endswith("Probe")]
    assert probes
    assert all("httpGet" in probe for probe in probes)
    assert "sh" not in yaml.safe_dump(pod).split()


def test_the_image_itself_runs_without_root_and_starts_without_a_shell() -> None:
    last = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(r"^USER 65532:65532$", last, re.MULTILINE)
    assert re.search(r'^ENTRYPOINT \["python", "-m"\]$', last, re.MULTILINE)
    assert "\nRUN " not in last
