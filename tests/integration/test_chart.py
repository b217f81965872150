"""The Helm chart, by the real Helm: it renders what the plugin installs, and refuses."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from edl import contract
from edl.patches.merge_patch import merged
from edl.writes import Json
from manifests import chart_files, installation, values
from manifests.chart_files import CHART
from manifests.documents import parse
from manifests.templating.filled import filled
from sandbox.builds.build import BuildEnvironment, built
from sandbox.builds.recipe import HELM
from sandbox.paths import places

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]  # a first build takes minutes

CHOICES: dict[str, Json] = {
    "defaults": {},
    "an image for launchers": {"launcherImage": "example.test/launchers:9"},
    "another image": {"image": "example.test/edl:9", "logLevel": "debug"},
    "planning": {
        "reconciler": {
            "planning": {
                "policy": "throughput",
                "priorityWeight": {"1000": 2, "-5": 0.5},
                "patience": 30,
                "idle": 2000000,
                "loadCeiling": 0.9,
                "nearlyDone": 2,
                "preempt": True,
                "growthCooldown": 0,
                "pendingLimit": 0.25,
                "restartCooldown": 0,
                "gangLimit": 12.5,
                "autoscaler": "none",
                "provisioningTimeout": 900.5,
                "provisioningParallelism": 3,
                "provisionalImage": "example/pause:1",
                "provisioner": "provisioning-request",
                "provisioningClass": "check-capacity.autoscaling.x-k8s.io",
                "provisioningParameters": "maxRunDurationSeconds=86400",
                "growth": "any-node",
                "idleNodeAfter": 120,
                "drainPatience": 600,
                "queueingSchedulers": "volcano,gke.io/optimize-utilization-scheduler",
            }
        }
    },
    "a port for GKE": {"webhook": {"port": 10250}},
    "an overlay network": {"webhook": {"hostNetwork": True, "probePort": 18080}},
    "no preemption": {"reconciler": {"planning": {"preempt": False}}},
    "sizes": {
        "webhook": {"replicas": 3, "resources": {"requests": {"cpu": 2}, "limits": {"cpu": "1.5"}}},
        "reconciler": {
            "replicas": 8,
            "resources": {"requests": {"cpu": "1"}, "limits": {"memory": None}},
        },
    },
    "places": {
        "pods": {
            "nodeSelector": {"role": "infra"},
            "tolerations": [{"key": "infra", "operator": "Exists", "tolerationSeconds": 300}],
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            "priorityClassName": "infra",
            "labels": {"cost-center": "ml", "app.kubernetes.io/name": "other"},
            "annotations": {"sidecar.istio.io/inject": "false"},
            "imagePullSecrets": ["registry"],
        }
    },
    "ignored namespaces": {"ignoredNamespaces": ["istio-system", "argocd"]},
    "network policy": {"networkPolicy": {"enabled": True}},
    "readers of the settings": {"settingsReaders": ["research", "oidc:ops team", "system:nodes"]},
    "no fence": {"fence": {"enabled": False}},
    "no Secrets": {"rights": {"secrets": False}},
    "no accounts": {"rights": {"rolebindings": False}},
    "no rights of modes": {"rights": {"secrets": False, "rolebindings": False}},
    "narrow network policy": {
        "networkPolicy": {
            "enabled": True,
            "apiServerBlocks": ["10.0.0.2/32", "fd00::1/128"],
            "apiServerPorts": [16443],
            "monitoringNamespaces": ["prometheus", "victoria"],
        }
    },
    "cert-manager": {"certManager": {"enabled": True}, "logLevel": "error"},
    "monitoring": {
        "monitoring": {
            "enabled": True,
            "labels": {"release": "prometheus"},
            "runbookUrl": "https://example.test/operations/runbook/",
        }
    },
    "client certificates": {
        "webhook": {"clientCertificate": {"enabled": True, "names": ["a", "b"]}}
    },
    "any client certificate": {"webhook": {"clientCertificate": {"enabled": True, "names": []}}},
    "everything": {
        "webhook": {"clientCertificate": {"enabled": True}},
        "certManager": {"enabled": True},
        "networkPolicy": {"enabled": True},
        "monitoring": {"enabled": True},
    },
}
WRONG: dict[str, tuple[Json, str]] = {
    "an unknown name": ({"replicas": 3}, "additional properties 'replicas' not allowed"),
    "a single replica": ({"webhook": {"replicas": 1}}, "minimum: got 1, want 2"),
    "more than the quota admits": ({"reconciler": {"replicas": 9}}, "maximum: got 9, want 8"),
    "an unknown policy": (
        {"reconciler": {"planning": {"policy": "best"}}},
        "value must be one of 'fair', 'fifo', 'throughput', 'utilisation'",
    ),
    "a ceiling above all": (
        {"reconciler": {"planning": {"loadCeiling": 1.5}}},
        "maximum: got 1.5, want 1",
    ),
    "an autoscaler without the fence": (
        {"fence": {"enabled": False}, "reconciler": {"planning": {"autoscaler": "detect"}}},
        "value must be 'none'",
    ),
    "the port of the probes": ({"webhook": {"port": 8080}}, "'not' failed"),
    "the port of the reviews": ({"webhook": {"probePort": 8443}}, "'not' failed"),
    "words for a number": ({"reconciler": {"planning": {"idle": "1m"}}}, "got string, want number"),
    "no address": (
        {"networkPolicy": {"apiServerBlocks": ["example.test"]}},
        "does not match pattern",
    ),
    "a line more": ({"ignoredNamespaces": ["argocd\n"]}, "does not match pattern"),
    "a name with a control character": (
        {"webhook": {"clientCertificate": {"names": ["a\x7f"]}}},
        "does not match pattern",
    ),
}
HOSTILE = (
    *("*all", "&all", "!!int 1", "%YAML 1.2", "@at", "`tick", "- item", "key: value", "# nothing"),
    *('say "no"', "it's", "back\\slash", "back\\", "tab\t", "one\ntwo", "ends\n"),
    *("{{ .Release.Name }}", '{{ fail "evaluated" }}', "}}", "{a: 1}", "[1]", "${IMAGE}"),
    *("\n---\nkind: Pod\n", "\u2028", "\ufeff", "|", ">-", "'", '"', "' || true || '"),
    *("no", "~", "0x10", "1e3", "1_000", "2026-01-01", " spaces ", "ÄÖ", "\U0001f600"),
)
"""Texts that YAML, Helm or CEL would read as something else where they stand unquoted."""
ANY_TEXTS: Json = {
    "pods": {
        "annotations": {f"example.test/{at}": text for at, text in enumerate(HOSTILE)},
        "tolerations": [{"value": text} for text in HOSTILE],
        "affinity": {"podAffinity": list(HOSTILE)},
    },
    "webhook": {
        "clientCertificate": {
            "enabled": True,
            "names": [text for text in HOSTILE if text.isprintable() and "$" not in text],
        }
    },
    "settingsReaders": [text for text in HOSTILE if text.isprintable()],
}
"""Where any text may stand."""
NARROW_TEXTS: tuple[tuple[str, ...], ...] = (
    ("image",),
    ("launcherImage",),
    ("reconciler", "planning", "provisionalImage"),
    ("reconciler", "planning", "provisioningClass"),
    ("pods", "priorityClassName"),
    ("pods", "nodeSelector", "role"),
    ("pods", "labels", "team"),
    ("monitoring", "labels", "release"),
    ("monitoring", "runbookUrl"),
)
"""Where the schema knows what a text may be."""
REFUSED = tuple(
    f'{first}a "b" {{{{ fail "evaluated" }}}} # c\n---\nkind: Pod\n\\'
    for first in ("*", "#", '"', "' || true || '", "{{ .Release.Name }}", "\n")
)


class QuotedDumper(yaml.SafeDumper):
    """Texts in quotes: Helm takes 1e3 for a number, where YAML 1.1 has a text."""


QuotedDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


@pytest.fixture(scope="session")
def helm() -> Path:
    build_env = BuildEnvironment(places(os.environ).cache, os.environ)
    return built(HELM, build_env, sys.stderr.write) / "helm"


def run(
    helm: Path, *words: str, given: Json | None = None, chart: Path = CHART
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [helm, *words, str(chart), "-f", "-"],
        input=yaml.dump({"image": values.DEFAULTS.image} | (given or {}), Dumper=QuotedDumper),
        capture_output=True,
        text=True,
        check=False,
    )


def rendered(helm: Path, given: Json, namespace: str = contract.SYSTEM_NAMESPACE) -> list[Json]:
    done = run(helm, "template", "edl", "-n", namespace, given=given)
    assert done.returncode == 0, done.stderr
    return parse(done.stdout)


def has(given: Json, path: str) -> bool:
    """Whether something is said at a path such as `webhook.replicas`."""
    name, _, rest = path.partition(".")
    return name in given and (not rest or has(given[name], rest))


def installed(given: Json, namespace: str = contract.SYSTEM_NAMESPACE) -> list[Json]:
    """What the plugin installs, but for the namespace itself: a release finds it there."""
    documents = installation.documents(values.read(given), namespace)
    return [each for each in documents if each["kind"] != "Namespace"]


def unread(given: Json) -> list[Json]:
    """As `installed`, of values that nothing has looked at."""
    chosen = merged(values.plain(values.DEFAULTS), given)
    documents = filled(installation.template(), chosen, "default")
    return [each for each in documents if each["kind"] != "Namespace"]


def nested(path: Sequence[str], text: str) -> Json:
    found: Any = text
    for name in reversed(path):
        found = {name: found}
    return dict(found)


def ordered(documents: Any) -> list[Json]:  # noqa: ANN401 - any iterable of documents
    return sorted(documents, key=lambda each: (each["kind"], each["metadata"]["name"]))


@pytest.mark.parametrize("name", CHOICES)
def test_the_chart_renders_what_the_plugin_installs(helm: Path, name: str) -> None:
    assert ordered(rendered(helm, CHOICES[name])) == ordered(installed(CHOICES[name]))


@pytest.mark.parametrize("name", ["defaults", "everything"])
@pytest.mark.parametrize("namespace", ["team-x", "123"])
def test_it_is_at_home_in_the_releases_namespace(helm: Path, name: str, namespace: str) -> None:
    found = rendered(helm, CHOICES[name], namespace)
    assert ordered(found) == ordered(installed(CHOICES[name], namespace))
    assert contract.SYSTEM_NAMESPACE not in yaml.safe_dump_all(found)


def test_every_value_is_tried_above() -> None:
    """And each choice changes what is installed."""
    paths = [path for path, _, _ in chart_files.rows()]
    tried = [path for path in paths if any(has(given, path) for given in CHOICES.values())]
    assert tried == paths
    plain = installation.documents()
    for name, given in CHOICES.items():
        changed = installation.documents(values.read(given)) != plain
        assert changed == (name != "defaults"), name


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_refused_by_both_with_the_reason(helm: Path, name: str) -> None:
    given, reason = WRONG[name]
    done = run(helm, "template", "edl", given=given)
    assert done.returncode != 0
    assert reason in done.stderr
    with pytest.raises(values.ValuesError):
        values.read(given)


def test_any_text_arrives_as_it_was_given(helm: Path) -> None:
    assert ordered(rendered(helm, ANY_TEXTS)) == ordered(installed(ANY_TEXTS))


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_that_cannot_be_is_refused_by_both(helm: Path, text: str) -> None:
    each = [nested(path, text) for path in NARROW_TEXTS]
    done = run(helm, "template", "edl", given=reduce(merged, each))
    assert done.returncode != 0
    for path, given in zip(NARROW_TEXTS, each, strict=True):
        assert f"at '/{'/'.join(path)}': " in done.stderr
        with pytest.raises(values.ValuesError, match=".".join(path[:2])):
            values.read(given)


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_that_no_schema_looked_at_changes_nothing_around_it(helm: Path, text: str) -> None:
    """`helm install --skip-schema-validation`, or a chart that has this one inside."""
    given = reduce(merged, [nested(path, text) for path in NARROW_TEXTS])
    given = merged(given, {"monitoring": {"enabled": True}})
    done = run(helm, "template", "edl", "--skip-schema-validation", given=given)
    assert done.returncode == 0, done.stderr
    found = parse(done.stdout)
    assert ordered(found) == ordered(unread(given))


def test_an_image_is_asked_for(helm: Path) -> None:
    done = run(helm, "template", "edl", given={"image": ""})
    assert done.returncode != 0
    assert "image: none is public" in done.stderr


def test_helm_finds_nothing_to_complain_of(helm: Path) -> None:
    done = run(helm, "lint", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_packaged_chart_renders_the_same(helm: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [helm, "package", CHART, "-d", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (packaged,) = tmp_path.glob("*.tgz")
    done = run(helm, "template", "edl", "-n", contract.SYSTEM_NAMESPACE, chart=packaged)
    assert done.returncode == 0, done.stderr
    assert ordered(parse(done.stdout)) == ordered(installed({}))
