import base64
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from edl.writes import Json
from manifests import chart_files, installation, render
from manifests.values import Values

CONFIGURATIONS = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}


def containers(documents: tuple[Json, ...]) -> list[Json]:
    found: list[Json] = []
    for document in documents:
        if document["kind"] == "Deployment":
            found += document["spec"]["template"]["spec"]["containers"]
    return found


def launchers_image(documents: tuple[Json, ...]) -> list[str]:
    return [
        variable["value"]
        for container in containers(documents)
        for variable in container.get("env", ())
        if variable["name"] == installation.IMAGE_VARIABLE
    ]


def webhooks(documents: tuple[Json, ...]) -> list[Json]:
    return [
        webhook
        for document in documents
        if document["kind"] in CONFIGURATIONS
        for webhook in document["webhooks"]
    ]


def test_launchers_copy_kubectl_from_the_image_that_is_set_for_them() -> None:
    own, common = Values(launcher_image="a.test/l:1"), Values(image="a.test/k:1")
    assert launchers_image(installation.documents(own)) == ["a.test/l:1"]
    assert launchers_image(installation.documents(common)) == ["a.test/k:1"]


def test_the_command_writes_a_release_of_another_image(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    words = ["--image", "example.test/edl:9", "--output", str(path)]
    assert CliRunner().invoke(render.render, words).exit_code == 0
    assert path.read_text() == render.release("example.test/edl:9")
    assert CliRunner().invoke(render.render, words[:2]).exit_code == 2, "no file is named"


def test_a_namespace_without_a_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chart takes its namespace from Helm."""
    written: list[None] = []
    monkeypatch.setattr(chart_files, "write", lambda: written.append(None))
    found = CliRunner().invoke(render.render, ["--namespace", "team-x"])
    assert (found.exit_code, written) == (2, [])
    assert "--output is missing" in found.output


def test_the_release_reads_back_as_the_base() -> None:
    assert tuple(yaml.safe_load_all(render.release())) == render.load()


def test_launchers_take_kubectl_from_the_image_that_the_webhook_runs() -> None:
    documents = render.load()
    assert {each["image"] for each in containers(documents)} == set(launchers_image(documents))


def test_another_image_is_everywhere() -> None:
    documents = installation.documents(Values(image="example.test/edl:9"))
    assert {each["image"] for each in containers(documents)} == {"example.test/edl:9"}
    assert launchers_image(documents) == ["example.test/edl:9"]
    assert "kubectl-edl:0" not in render.release("example.test/edl:9")


def test_outside_the_cluster_rights_and_configurations_remain() -> None:
    kinds = {document["kind"] for document in render.without_workloads(render.load())}
    assert kinds == CONFIGURATIONS | {
        "Namespace",
        "Secret",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "PriorityClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }


def test_a_url_replaces_the_service_and_keeps_the_path() -> None:
    called = render.with_webhook_url(render.load(), "https://127.0.0.1:8443", b"PEM")
    clients = [webhook["clientConfig"] for webhook in webhooks(called)]
    assert [client["url"] for client in clients] == [
        *["https://127.0.0.1:8443/mutate"] * 3,
        *["https://127.0.0.1:8443/validate"] * 2,
        "https://127.0.0.1:8443/advise",
        *["https://127.0.0.1:8443/validate"] * 2,
    ]
    assert {base64.b64decode(client["caBundle"]) for client in clients} == {b"PEM"}
    assert all("service" not in client for client in clients)


def test_the_command_writes_what_a_webhook_outside_the_cluster_needs(tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    authority.write_bytes(b"PEM")
    url = "https://127.0.0.1:8443"
    words = ["--webhook-url", url, "--authority", str(authority), "--output", "-"]
    written = tuple(yaml.safe_load_all(CliRunner().invoke(render.render, words).output))
    rights = render.without_workloads(render.load())
    assert written == render.with_webhook_url(rights, url, b"PEM")
    there = CliRunner().invoke(render.render, [*words, "--namespace", "team-x"]).output
    accounts = [one for one in yaml.safe_load_all(there) if one["kind"] == "ServiceAccount"]
    assert {one["metadata"]["namespace"] for one in accounts} == {"team-x"}


def test_the_base_itself_stays_as_it_was() -> None:
    documents = render.load()
    installation.documents(Values(image="other"))
    render.with_webhook_url(documents, "https://127.0.0.1:1", b"")
    assert documents == render.load()
