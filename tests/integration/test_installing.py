"""`kubectl edl install`, `upgrade` and `uninstall` on a real API server and on simulated nodes."""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import yaml

from certs.secrets import ensure, usual
from dev import installation as dev_installation
from edl import contract
from edl.kube.api.client import connect
from edl.patches.merge_patch import merged
from edl.writes import Json
from manifests import installation, krew_archive, values
from manifests.chart_files import CHART
from manifests.documents import HERE, parse
from sandbox import NodeGroup, temporary_sandbox
from sandbox.builds.build import BuildEnvironment, built
from sandbox.builds.recipe import HELM
from sandbox.files import made_once
from sandbox.layout import free_ports
from sandbox.paths import places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from edl.writes import Json
    from sandbox.cluster import Cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.timeout(1800),
]  # Helm's first build takes minutes

COMPONENTS: dict[str, Json] = {
    "settings-readers": {"settingsReaders": ["system:authenticated"]},
    "network-policy": {"networkPolicy": {"enabled": True}},
    "no-fence": {"fence": {"enabled": False}},
    "no-secrets": {"rights": {"secrets": False}},
    "no-rolebindings": {"rights": {"rolebindings": False}},
    "cert-manager": {"certManager": {"enabled": True}},
    "monitoring": {"monitoring": {"enabled": True}},
    "client-certificate": {"webhook": {"clientCertificate": {"enabled": True}}},
}
COMBINATIONS = sorted(
    {
        *itertools.combinations(COMPONENTS, 1),
        # Any two of seven are together, apart and away in some of these: an orthogonal array.
        *(
            tuple(name for at, name in enumerate(COMPONENTS, 1) if (at & row).bit_count() % 2)
            for row in range(8)
        ),
        tuple(COMPONENTS),
    }
)


def ordered(documents: Sequence[Json]) -> list[Json]:
    return sorted(documents, key=lambda each: (each["kind"], each["metadata"]["name"]))


@pytest.mark.parametrize("chosen", COMBINATIONS)
def test_kustomize_renders_what_the_plugin_installs(
    sandbox_cluster: Cluster, tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    """kustomize takes folders relative to the kustomization only."""
    (tmp_path / "manifests").symlink_to(HERE)
    kustomization = {
        "resources": ["manifests/base"],
        "components": [f"manifests/components/{name}" for name in chosen],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    built = sandbox_cluster.kubectl(
        "kustomize", "--load-restrictor=LoadRestrictionsNone", str(tmp_path)
    )
    given: Json = {}
    for name in chosen:
        given = merged(given, COMPONENTS[name])
    installed = installation.documents(values.read(given))
    assert ordered(parse(built)) == ordered(installed)


def plugin(cluster: Cluster, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kubectl_edl", *words],
        env=cluster.kubectl_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def everything(cluster: Cluster) -> set[str]:
    """Kind, namespace and name of each object that stays."""
    passing = {"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses"}
    kinds = cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    listed = ",".join(kind for kind in kinds if kind not in passing)
    shape = '{range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
    return set(cluster.kubectl("get", listed, "-A", "-o", f"jsonpath={shape}").splitlines())


@pytest.fixture(scope="module")
def empty() -> Iterator[Cluster]:
    """A cluster of these tests alone; each leaves it as it was."""
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"installs and uninstalls, where others may be at work; EDL_KUBECONFIG={named}")
    with temporary_sandbox("installing", NodeGroup(count=2, cpu="8", memory="32Gi")) as sandbox:
        yield sandbox


def test_it_comes_changes_and_goes_again(empty: Cluster) -> None:
    """Nodes play a kubelet here: pods are ready at once, and nobody installs their trust."""
    before = everything(empty)
    a_dry_run_is_accepted(empty)
    assert everything(empty) == before
    an_installation_without_a_ca_is_not_ready(empty)
    an_upgrade_without_changes_is_ready(empty)
    values_are_changed_and_changed_back(empty)
    it_is_uninstalled_once_that_is_confirmed(empty)
    assert everything(empty) == before


def a_dry_run_is_accepted(cluster: Cluster) -> None:
    dry = plugin(cluster, "install", "--dry-run", "server", "--image", "example.test/edl:9")
    assert (dry.returncode, dry.stderr) == (0, "")


def an_installation_without_a_ca_is_not_ready(cluster: Cluster) -> None:
    late = plugin(cluster, "install", "--image", "kubectl-edl:0.1.0", "--timeout", "20")
    assert late.returncode == 5, late.stdout + late.stderr
    assert "the API server has no caBundle for it yet" in late.stderr


def an_upgrade_without_changes_is_ready(cluster: Cluster) -> None:
    # The leader of the reconciler would do this; no reconciler runs here.
    ensure(connect(str(cluster.kubeconfig)), usual(), datetime.now(UTC))
    again = plugin(cluster, "upgrade", "--timeout", "30")
    assert (again.returncode, again.stderr) == (0, "")
    *lines, ready = again.stdout.splitlines()
    assert {line.rpartition(" ")[2] for line in lines} == {"unchanged"}
    assert ready == "kubectl-edl is ready: kubectl edl status -A"


def values_are_changed_and_changed_back(cluster: Cluster) -> None:
    changed = plugin(
        cluster,
        *("upgrade", "--no-wait", "--set", "networkPolicy.enabled=true"),
        *("--set", "reconciler.planning.policy=throughput"),
    )
    assert (changed.returncode, changed.stderr) == (0, "")
    assert "networkpolicy.networking.k8s.io/edl-webhook created" in changed.stdout
    assert "--policy throughput]" in changed.stdout

    back = plugin(cluster, "upgrade", "--no-wait", "--set", "networkPolicy.enabled=false")
    assert "networkpolicy.networking.k8s.io/edl-webhook deleted" in back.stdout
    assert "--policy" in deployment_args(cluster)


def it_is_uninstalled_once_that_is_confirmed(cluster: Cluster) -> None:
    refused = plugin(cluster, "uninstall")
    assert refused.returncode == 1
    assert "add --yes" in refused.stderr
    gone = plugin(cluster, "uninstall", "--yes")
    assert gone.returncode == 0, gone.stderr
    assert "kubectl delete namespace edl-system" in gone.stderr
    cluster.kubectl("delete", "namespace", "edl-system")


def test_the_wheel_carries_what_is_installed_and_krews_archive_runs(tmp_path: Path) -> None:
    """Without a network, a home or a package of this machine's."""
    home, python = "https://example.test", "{}.{}".format(*sys.version_info[:2])
    command = (sys.executable, "-m", "manifests.dist", "--homepage", home, "--url", f"{home}/v1")
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    name = f"{platform.system().lower()}-{arch}"
    only = ("--platform", name, "--python", python, "--output", str(tmp_path))
    source = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels_of_a_release(name, python))}
    subprocess.run([*command, *only], env=os.environ | source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    (packed,) = tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as found:
        carried = set(found.namelist())
    needed = [*HERE.glob("base/*"), *HERE.glob("components/*/*"), *HERE.glob("*.py")]
    assert {str(path.relative_to(HERE.parent)) for path in needed} <= carried
    assert not any(name.startswith(("manifests/chart/", "manifests/krew/")) for name in carried)
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "krew", filter="data")
    at_home, tools = tmp_path / "home", tmp_path / "tools"
    at_home.mkdir()
    tools.mkdir()
    (tools / "python3").symlink_to(os.path.realpath(sys.executable))
    for words, said in ((("version",), "kubectl-edl 0."), (("--help",), "Usage: kubectl edl")):
        done = subprocess.run(
            [*_without_network(), tmp_path / "krew" / "kubectl-edl", *words],
            env={"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(at_home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(said)
    assert list(at_home.iterdir()) == []
    checksum = hashlib.sha256(packed.read_bytes()).hexdigest()
    assert checksum in (tmp_path / "edl.yaml").read_text()


def wheels_of_a_release(name: str, python: str) -> Path:
    """What pip needs for one, in the cache: it reads an index for seconds."""
    (target,) = (each for each in krew_archive.PLATFORMS if each.name == name)
    options = krew_archive.wheel_options(target, python)
    project = tomllib.loads((krew_archive.ROOT / "pyproject.toml").read_text())
    builds = project["build-system"]["requires"]
    wanted = "\n".join((*options, *builds, krew_archive.LOCK.read_text()))
    key = hashlib.sha256(wanted.encode()).hexdigest()[:16]
    folder = places(os.environ).cache / "wheels-of-a-release" / key

    def download(fresh: Path) -> None:
        command = (sys.executable, "-m", "pip", "download", "-q", "-d", str(fresh))
        locked = ("--no-deps", *options, "-r", str(krew_archive.LOCK))
        for words in (locked, builds):
            subprocess.run([*command, *words], check=True)

    return made_once(folder, folder.with_suffix(".lock"), lambda: None, download)


def _without_network() -> tuple[str, ...]:
    """Where this machine lets its users have namespaces."""
    alone = ("unshare", "--map-root-user", "--net")
    allowed = subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0
    return alone if allowed else ()


_IMAGE = ("--set", f"image={values.DEFAULTS.image}")


def helm(cluster: Cluster, *words: str) -> str:
    program = built(HELM, BuildEnvironment(places(os.environ).cache, os.environ), sys.stderr.write)
    done = subprocess.run(
        [program / "helm", *words],
        env=cluster.kubectl_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_helm_installs_goes_with_helm(empty: Cluster) -> None:
    """Into the release's namespace, where the plugin finds it once it is told."""
    empty.kubectl("create", "namespace", "team-x")
    before = everything(empty)
    helm(
        empty,
        "install",
        "edl",
        str(CHART),
        "-n",
        "team-x",
        *_IMAGE,
        "--set",
        "networkPolicy.enabled=true",
    )
    elsewhere = plugin(empty, "upgrade")
    assert "export EDL_SYSTEM_NAMESPACE=team-x" in elsewhere.stderr
    refused = plugin(empty, "upgrade", "--system-namespace", "team-x")
    assert refused.returncode == 1
    assert "Helm installed kubectl-edl here: helm upgrade edl CHART -n team-x" in refused.stderr
    helm(empty, "uninstall", "edl", "-n", "team-x", "--wait")
    assert everything(empty) == before
    empty.kubectl("delete", "namespace", "team-x")


def test_a_release_in_another_namespace_does_its_work(empty: Cluster, tmp_path: Path) -> None:
    """What the chart renders there, with both processes beside the cluster as its accounts."""
    namespace = "team-y"
    empty.kubectl("create", "namespace", namespace)
    rendered = helm(empty, "template", "edl", str(CHART), "-n", namespace, *_IMAGE)
    release = dev_installation.Installation(empty, tmp_path, *_ports(), namespace=namespace)
    dev_installation.issue_certificates(release)
    dev_installation.apply_manifests(release, tuple(parse(rendered)))
    dev_installation.write_webhook_kubeconfig(release)
    dev_installation.start_webhook(release)
    dev_installation.write_reconciler_kubeconfig(release)
    dev_installation.start_reconciler(release, "reconciler")

    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": contract.TEAMS_CONFIG_MAP, "namespace": namespace},
        "data": {contract.TEAMS_KEY: "teams: [{name: vision, namespaces: [lab]}]"},
    }
    empty.kubectl("apply", "-f", "-", input=yaml.safe_dump(document))
    empty.kubectl("create", "namespace", "lab")
    empty.kubectl("apply", "-n", "lab", "-f", "-", input=yaml.safe_dump_all(map(_job, (1, 999))))

    def comes(what: str, where: str, condition: str = "create") -> None:
        empty.kubectl("wait", "-n", where, f"--for={condition}", what, "--timeout=60s")

    comes("job/size-1", "lab", "jsonpath={.spec.suspend}=false")
    comes(f"configmap/{contract.TEAMS_APPLIED_CONFIG_MAP}", namespace)
    comes("configmap/edl-queue", "lab")
    listed = plugin(empty, "queue", "-n", "lab", "--system-namespace", namespace)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "size-999" in listed.stdout
    found = plugin(empty, "teams", "--system-namespace", namespace)
    assert "vision" in found.stdout

    gone = plugin(empty, "uninstall", "--yes", "--system-namespace", namespace)
    assert gone.returncode == 0, gone.stderr
    kinds = "leases,configmaps,secrets,serviceaccounts,roles,rolebindings"
    left = empty.kubectl("get", kinds, "-n", namespace, "-o", "name").split()
    own = {"configmap/kube-root-ca.crt", "serviceaccount/default"}
    assert set(left) == own | {f"configmap/{contract.TEAMS_CONFIG_MAP}"}
    queues = empty.kubectl("get", "configmaps", "-n", "lab", "-o", "name").split()
    assert queues == ["configmap/kube-root-ca.crt"]


def _ports() -> tuple[int, int, dict[str, int]]:
    webhook, probes, metrics = free_ports(3)
    return webhook, probes, {"reconciler": metrics}


def _job(size: int) -> Json:
    container = {
        "name": "main",
        "image": "train",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"size-{size}",
            "labels": {"edl.dev/framework": "pytorch", "edl.dev/min": str(size)},
        },
        "spec": {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}},
    }


def deployment_args(cluster: Cluster) -> str:
    path = "{.spec.template.spec.containers[0].args}"
    where = ("-n", contract.SYSTEM_NAMESPACE, "deployment/edl-reconciler")
    return cluster.kubectl("get", *where, "-o", f"jsonpath={path}")
