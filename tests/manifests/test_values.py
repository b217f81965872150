"""What an installation may choose, and how a wrong choice is refused."""

from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from edl.kube.option_group import click_options
from edl.planner.policies import POLICIES
from edl.planner.published_settings import in_json
from edl.writes import Json
from manifests import chart_files, installation, values
from manifests.optional_parts import Monitoring
from manifests.planning import CHOICES, Planning
from reconciler.command_line import main as reconciler_command
from reconciler.decision_options import planning_options
from webhook.__main__ import webhook as webhook_command

WEBHOOK, RECONCILER = "edl-webhook", "edl-reconciler"


def arguments(given: dict[str, object], deployment: str) -> list[str]:
    (found,) = (
        each
        for each in installation.documents(values.read(given))
        if (each["kind"], each["metadata"]["name"]) == ("Deployment", deployment)
    )
    (container,) = found["spec"]["template"]["spec"]["containers"]
    words: list[str] = container["args"]
    return words


@pytest.mark.parametrize("path", chart_files.FILES, ids=lambda path: path.name)
def test_the_charts_files_are_the_written_ones(path: Path) -> None:
    assert path.read_text() == chart_files.FILES[path](), "run: make manifests"


def test_the_chart_has_no_other_templates() -> None:
    found = set((chart_files.CHART / "templates").glob("*.yaml"))
    assert found == {path for path in chart_files.FILES if path.parent.name == "templates"}


def test_the_written_values_are_the_defaults() -> None:
    given = yaml.safe_load(chart_files.values_text())
    assert given.pop("image") == ""
    assert values.read(given) == values.DEFAULTS == values.read({})


def test_examples_in_comments_are_accepted() -> None:
    """Each `# name: example` of values.yaml, when its comment sign is taken away."""
    lines = chart_files.values_text().splitlines()
    found = [
        line.replace("# ", "", 1) for line in lines if line.startswith("    # ") and ":" in line
    ]
    planning = yaml.safe_load("\n".join(line for line in found if "  # " in line))
    chosen = values.read({"reconciler": {"planning": planning}}).reconciler.planning
    assert set(values.plain(chosen)) == set(planning)


def test_the_notes_name_the_label_that_helms_namespace_lacks() -> None:
    (namespace,) = (each for each in installation.documents() if each["kind"] == "Namespace")
    label = "pod-security.kubernetes.io/enforce"
    notes = (chart_files.CHART / "templates" / "NOTES.txt").read_text()
    assert f"{label}={namespace['metadata']['labels'][label]}" in notes


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((chart_files.CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version("kubectl-edl")
    assert values.DEFAULTS.image == f"kubectl-edl:{chart['appVersion']}"


def test_every_value_has_a_meaning() -> None:
    assert all(meaning for _, _, meaning in chart_files.rows())


def test_every_policy_can_be_chosen() -> None:
    assert set(CHOICES["policy"]) == set(POLICIES)


def test_every_option_of_the_planner_can_be_chosen() -> None:
    assert list(Planning.__struct_fields__) == [one.name for one in click_options(planning_options)]


def test_the_reconciler_understands_what_is_chosen() -> None:
    planning = {
        "policy": "throughput",
        "priorityWeight": {"1000": 2, "0": 0.5},
        "patience": 30,
        "idle": 60,
        "loadCeiling": 0.9,
        "nearlyDone": 2,
        "preempt": True,
        "growthCooldown": 0.5,
        "pendingLimit": 45,
        "restartCooldown": 600,
        "gangLimit": 12.5,
        "autoscaler": "present",
        "provisioningTimeout": 900,
        "provisioningParallelism": 3,
        "provisioner": "provisioning-request",
        "provisioningClass": "queued.example.com",
        "provisioningParameters": "maxRunDurationSeconds=86400",
        "provisionalImage": "example/pause:1",
        "growth": "any-node",
        "idleNodeAfter": 120,
        "drainPatience": 600,
    }
    package, *words = arguments({"reconciler": {"planning": planning}}, RECONCILER)
    assert package == "reconciler"
    params = reconciler_command.make_context("reconciler", words).params
    given = {name: in_json(value) for name, value in params.items()}
    assert (given["policy"], given["preempt"]) == ("throughput", True)
    assert given["priority_weight"] == {"0": 0.5, "1000": 2}
    assert (given["patience"], given["idle"], given["gang_limit"]) == (30, 60, 12.5)
    assert (given["growth_cooldown"], given["pending_limit"]) == (0.5, 45)
    assert (given["load_ceiling"], given["nearly_done"]) == (0.9, 2)
    assert (given["autoscaler"], given["provisional_image"]) == ("present", "example/pause:1")
    assert (given["provisioner"], given["provisioning_class"]) == (
        "provisioning-request",
        "queued.example.com",
    )
    assert given["provisioning_parameters"] == "maxRunDurationSeconds=86400"
    assert (given["provisioning_timeout"], given["provisioning_parallelism"]) == (900, 3)
    assert (given["growth"], given["idle_node_after"]) == ("any-node", 120)
    assert given["drain_patience"] == 600


def test_what_is_not_chosen_is_not_said() -> None:
    assert "--policy" not in arguments({}, RECONCILER)
    assert "--log-level" not in arguments({}, WEBHOOK)
    assert arguments({"logLevel": "debug"}, WEBHOOK)[-2:] == ["--log-level", "debug"]
    assert arguments({"logLevel": "debug"}, RECONCILER)[-2:] == ["--log-level", "debug"]


def webhook_deployment(given: dict[str, object]) -> Json:
    (found,) = (
        each
        for each in installation.documents(values.read({"webhook": given}))
        if (each["kind"], each["metadata"]["name"]) == ("Deployment", WEBHOOK)
    )
    spec: Json = found["spec"]
    return spec


def test_the_webhook_listens_on_the_chosen_ports() -> None:
    pod = webhook_deployment({"port": 10250, "probePort": 8443})["template"]["spec"]
    (container,) = pod["containers"]
    _, *words = container["args"]
    words += ["--image", "in its environment"]
    params = webhook_command.make_context("webhook", words).params
    assert (params["port"], params["probe_port"]) == (10250, 8443)
    assert container["ports"] == [
        {"name": "https", "containerPort": 10250},
        {"name": "probes", "containerPort": 8443},
    ]


@pytest.mark.parametrize("given", [{"port": 8080}, {"port": 9000, "probePort": 9000}])
def test_reviews_and_probes_cannot_have_one_port(given: dict[str, object]) -> None:
    with pytest.raises(values.ValuesError, match=r"^webhook\.probePort: must differ"):
        values.read({"webhook": given})


def test_in_the_nodes_network_a_pod_leaves_its_port_before_the_next_one_takes_it() -> None:
    deployment = webhook_deployment({"hostNetwork": True})
    assert deployment["template"]["spec"]["hostNetwork"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert [port["hostPort"] for port in container["ports"]] == [8443, 8080]
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert "hostNetwork" not in webhook_deployment({})["template"]["spec"]


@pytest.mark.parametrize(("host", "level"), [(True, "privileged"), (False, "restricted")])
def test_pod_security_admits_the_webhooks_pods(level: str, *, host: bool) -> None:
    given = values.read({"webhook": {"hostNetwork": host}})
    (namespace,) = (each for each in installation.documents(given) if each["kind"] == "Namespace")
    labels = namespace["metadata"]["labels"]
    assert {labels[one] for one in labels if one.startswith("pod-security.")} == {level}


def test_given_maps_are_merged_with_the_defaults() -> None:
    """As Helm does: null takes a default away."""
    limits = {"cpu": 1, "memory": None}
    chosen = values.read({"webhook": {"resources": {"limits": limits}}})
    assert chosen.webhook.resources.limits == {"cpu": 1}
    assert chosen.webhook.resources.requests == values.DEFAULTS.webhook.resources.requests


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"replicas": 3}, "^replicas: unknown value; --set replicas= leaves it out$"),
        ({"webhook": {"replicas": 1}}, "webhook.replicas: Expected `int` >= 2"),
        (
            {"reconciler": {"planning": {"policy": "best"}}},
            "reconciler.planning.policy: Invalid enum value 'best'; one of fair, throughput, fifo",
        ),
        (
            {"reconciler": {"planning": {"preempt": "maybe"}}},
            "^reconciler.planning.preempt: must be true or false$",
        ),
        ({"fence": {"enabled": 1}}, "^fence.enabled: must be true or false$"),
        ({"logLevel": "loud"}, "logLevel: Invalid enum value 'loud'; one of debug, info, warning"),
        ({"webhook": {"resources": {"limits": {"cpu": "1.2.3"}}}}, "limits.*Expected `str` match"),
        ({"webhook": {"resources": {"limits": {"cpu": "1ki"}}}}, "limits.*Expected `str` match"),
        ({"networkPolicy": {"monitoringNamespaces": []}}, "monitoringNamespaces: .* length >= 1"),
        ({"networkPolicy": {"apiServerBlocks": ["10.0.0.0/33"]}}, "apiServerBlocks.*match"),
        ({"networkPolicy": {"apiServerBlocks": ["::/129"]}}, "apiServerBlocks.*match"),
        ({"pods": {"tolerations": [{"oops": 1}]}}, r"tolerations\[0\]: Invalid enum value 'oops'"),
        ({"pods": {"affinity": {"oops": {}}}}, "affinity: Invalid enum value 'oops'"),
    ],
)
def test_a_wrong_value_is_refused_by_its_path(given: dict[str, object], said: str) -> None:
    with pytest.raises(values.ValuesError, match=said.replace("`", ".")):
        values.read(given)


def test_what_kubernetes_accepts_is_accepted() -> None:
    limits = {"cpu": ".5", "memory": "1.5Gi", "example.test/a": "2.", "example.test/b": "1Ki"}
    blocks = ("10.0.0.2/32", "0.0.0.0/0", "fd00::/8", "::ffff:10.0.0.2/128")
    toleration = {"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}
    given = {
        "webhook": {"resources": {"limits": limits}},
        "networkPolicy": {"apiServerBlocks": blocks},
        "pods": {"tolerations": [toleration]},
    }
    found = values.read(given)
    assert found.webhook.resources.limits == {"memory": "384Mi"} | limits
    assert found.network_policy.api_server_blocks == blocks
    assert found.pods.tolerations == (toleration,)


@pytest.mark.parametrize("mode", ["detect", "present"])
def test_no_autoscaler_can_be_chosen_without_the_fence(mode: str) -> None:
    """The reconciler's right to request nodes is installed with the fence only."""
    given: dict[str, object] = {
        "fence": {"enabled": False},
        "reconciler": {"planning": {"autoscaler": mode}},
    }
    with pytest.raises(values.ValuesError, match="autoscaler: must be none or absent with fence"):
        values.read(given)
    given["reconciler"] = {"planning": {"autoscaler": "none"}}
    assert arguments(given, RECONCILER)[-2:] == ["--autoscaler", "none"]


def test_pods_get_more_labels_and_keep_those_that_select_them() -> None:
    given = {"cost-center": "ml", "app.kubernetes.io/name": "other"}
    documents = installation.documents(values.read({"pods": {"labels": given}}))
    deployments = [document for document in documents if document["kind"] == "Deployment"]
    assert len(deployments) == 2
    for deployment in deployments:
        found = deployment["spec"]["template"]["metadata"]["labels"]
        assert found["cost-center"] == "ml"
        assert deployment["spec"]["selector"]["matchLabels"].items() <= found.items()


def test_values_of_one_installation_change_no_other() -> None:
    before = installation.documents()
    installation.documents(
        values.read({"certManager": {"enabled": True}, "ignoredNamespaces": ["a"]})
    )
    assert installation.documents() == before


def test_another_namespace_is_the_users_and_everything_is_in_it() -> None:
    everything = ("networkPolicy", "certManager", "monitoring")
    chosen = values.read({name: {"enabled": True} for name in everything})
    found = installation.documents(chosen, "team-x")
    assert "Namespace" not in {each["kind"] for each in found}
    assert "system:serviceaccount:team-x:edl-reconciler" in yaml.safe_dump_all(found)
    assert "edl-system" not in yaml.safe_dump_all(found)


def test_alerts_have_no_link_while_the_runbook_has_no_address() -> None:
    given = values.read({"monitoring": {"enabled": True}})
    (rules,) = (one for one in installation.documents(given) if one["kind"] == "PrometheusRule")
    for group in rules["spec"]["groups"]:
        for rule in group["rules"]:
            assert rule["annotations"].keys() == {"summary", "description", "runbook"}


def test_alerts_name_the_runbook_where_it_is_kept() -> None:
    kept = "https://example.test/operations/runbook/"
    part = Monitoring(enabled=True, runbook_url=kept)
    given = values.Values(monitoring=part)
    (rules,) = (one for one in installation.documents(given) if one["kind"] == "PrometheusRule")
    found = [
        (rule["alert"], rule["annotations"]["runbook_url"])
        for group in rules["spec"]["groups"]
        for rule in group["rules"]
    ]
    assert found
    assert [url for _, url in found] == [f"{kept}#{alert.lower()}" for alert, _ in found]


@pytest.mark.parametrize(
    ("place", "known"), [("tolerations", "tolerationSeconds"), ("affinity", "podAffinity")]
)
def test_helm_refuses_fields_that_tolerations_and_affinity_lack(place: str, known: str) -> None:
    about = chart_files.schema()["$defs"]["PodSettings"]["properties"][place]
    fields = about.get("items", about)["propertyNames"]["enum"]
    assert known in fields
    assert "oops" not in fields
