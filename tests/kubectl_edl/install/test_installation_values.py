"""Values of an installation, from files and from the command line."""

from pathlib import Path

import pytest
import yaml

from tests.kubectl_edl.install.installations import (
    IMAGE,
    KEPT,
    arguments,
    deployment,
    install,
    ready,
    stage,
)


def test_values_come_from_a_file_and_the_command_line_wins(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text("reconciler: {planning: {policy: fifo, priorityWeight: {1000: 2}}}\n")
    on = stage()
    run = install(on, "-f", str(path), "--set", "reconciler.planning.policy=utilisation")
    assert run.code == 0, run.err
    words = ["--policy", "utilisation", "--priority-weight", "1000=2"]
    assert arguments(on)[-4:] == words


def test_several_files_of_values_are_merged_in_their_order(tmp_path: Path) -> None:
    for name, text in {
        "base.yaml": "reconciler: {planning: {policy: fifo, priorityWeight: {1000: 2}}}\n",
        "production.yaml": "reconciler: {planning: {policy: utilisation}}\n",
    }.items():
        (tmp_path / name).write_text(text)
    on = stage()
    run = install(on, "-f", f"{tmp_path}/base.yaml", "--values", f"{tmp_path}/production.yaml")
    assert run.code == 0, run.err
    words = ["--policy", "utilisation", "--priority-weight", "1000=2"]
    assert arguments(on)[-4:] == words


def laughs(twice: str) -> bytes:
    """Values that alias the value before them twice; the last one is expanded to 2**14."""
    levels = (f"v{n}: &v{n} {twice.format(f'*v{n - 1}')}" for n in range(1, 15))
    return "\n".join(("v0: &v0 {x: lol}", *levels, "")).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"image: x\nnote: caf\xe9\n", "values.yaml: document 1, line 2: not UTF-8\n"),
        (b"- image\n", "values.yaml: no map of values\n"),
        (b"0\n", "values.yaml: no map of values\n"),
        (b"{", "values.yaml: not YAML: while parsing a flow node"),
        (b"x: 1\nimage: !!bool x", "the value does not fit its tag !!bool in "),
        (b"x: 1\nimage: !!int ''", "line 2, column 8"),
        (b"image: !!timestamp x", "the value does not fit its tag !!timestamp in "),
        (b"image: &a [*a]", "an alias is inside its own anchor in "),
        (b"a: " + b"[" * 500, "values.yaml: nested too deeply\n"),
        (b"a: " + b"[" * 110 + b"]" * 110, "values.yaml: nested too deeply\n"),
        (laughs("{{x: {0}, y: {0}}}"), "values.yaml: more than 10000 values (aliases count"),
        (laughs("[{0}, {0}]"), "values.yaml: more than 10000 values (aliases count"),
        (laughs("{{<<: [{0}, {0}]}}"), "values.yaml: more than 10000 values (aliases count"),
    ],
)
def test_a_values_file_without_a_map_is_refused_in_one_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "values.yaml").write_bytes(content)
    run = install(stage(), "-f", str(tmp_path / "values.yaml"))
    assert (run.code, run.err.count("\n")) == (1, 1)
    assert said in run.err


@pytest.mark.parametrize("timeout", ["0", "0s", "1m", "90", "2h30m"])
def test_a_timeout_is_seconds_or_has_its_unit(timeout: str) -> None:
    on = stage()
    install(on)
    for name in ("edl-webhook", "edl-reconciler"):
        ready(on, name)
    assert on.run("upgrade", "--timeout", timeout, "--dry-run", "server").code == 0


def test_a_dot_in_a_name_is_escaped_as_in_helm() -> None:
    on = stage()
    install(on, "--set", r"pods.nodeSelector.kubernetes\.io/os=linux")
    pod = deployment(on)["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--set", "webhook.replicas=1"), 1, "webhook.replicas: Expected `int` >= 2"),
        (("--set", "policy"), 2, '--set "policy": write NAME=VALUE'),
        (("--set", "a=b"), 2, '--set "a=b": there is no such value; a: one of image, '),
        (("--set", "webhook.replica=3"), 2, "; webhook.replica: one of "),
        (
            ("--set", "reconciler.planning.polcy="),
            2,
            "; reconciler.planning.polcy: one of policy, ",
        ),
        (("--set", "image={"), 2, '--set "image={": the value is not YAML'),
        (("--set", "image=!!bool x"), 2, '--set "image=!!bool x": the value is not YAML'),
        (("--set", "image=!!int ''"), 2, "--set \"image=!!int ''\": the value is not YAML"),
        (("--set", "image=!!timestamp x"), 2, "the value is not YAML"),
        (("--set", "image=2026-13-45"), 2, '--set "image=2026-13-45": the value is not YAML'),
        (("--set", f"image={'[' * 200}{']' * 200}"), 2, ']]]]": the value is not YAML'),
        (("--values", "nobody.yaml"), 1, "nobody.yaml cannot be read: No such file or directory"),
        (("-f", "."), 2, "File '.' is a directory."),
        (
            ("--image", ""),
            2,
            '"" is not an image; name one that the cluster can pull: registry.example/',
        ),
        (("--image", "a b"), 2, '"a b" is not an image'),
        (("--timeout", "nan"), 2, "'nan' is not 0 or a duration from 0.001s to 365d: "),
        (("--timeout", "-1"), 2, "'-1' is not 0 or a duration"),
        (("--timeout", "9999999d"), 2, "'9999999d' is not 0 or a duration from 0.001s to 365d: "),
    ],
)
def test_a_wrong_value_is_refused(words: tuple[str, ...], code: int, said: str) -> None:
    run = install(stage(), *words)
    assert run.code == code
    assert said in run.err


def test_a_stored_value_of_another_version_is_left_out_on_request() -> None:
    on = stage()
    install(on)
    stored = yaml.safe_dump({"image": IMAGE, "webhook": {"oldName": 3, "replicas": 3}})
    on.cluster.patch(KEPT, {"data": {"values.yaml": stored}})
    refused = on.run("upgrade", "--no-wait")
    assert (refused.code, refused.err) == (
        1,
        "error: webhook.oldName: unknown value; --set webhook.oldName= leaves it out\n",
    )
    assert on.run("upgrade", "--no-wait", "--set", "webhook.oldName=").code == 0
    assert deployment(on)["spec"]["replicas"] == 3
    assert on.run("upgrade", "--no-wait", "--set", "webhook.oldName=").code == 2
