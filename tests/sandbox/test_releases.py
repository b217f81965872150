"""Which release of Kubernetes a sandbox is, and how each is built."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import Sandbox, SandboxError
from sandbox.builds import pin
from sandbox.builds.recipe import KWOK, key, link_flags, version
from sandbox.layout import Facts, read_facts, write_facts
from sandbox.releases import (
    CONTROL_PLANES,
    DEFAULT,
    PROGRAM,
    RELEASES,
    VARIABLE,
    control_plane,
)

ROOT = Path(__file__).parents[2]


def replaced(minor: str) -> dict[str, str]:
    """The staging modules that go.mod replaces by themselves, with their versions."""
    text = (CONTROL_PLANES / minor / "go.mod").read_text()
    return dict(re.findall(r"^\s(k8s\.io/\S+) => \1 (\S+)$", text, re.MULTILINE))


def test_the_releases_follow_each_other_and_the_usual_one_is_among_them() -> None:
    first = int(RELEASES[0].removeprefix("1."))
    assert [f"1.{first + n}" for n in range(len(RELEASES))] == list(RELEASES)
    assert DEFAULT in RELEASES


@pytest.mark.parametrize("minor", RELEASES)
def test_each_pins_a_patch_with_all_its_staging_modules_at_one_version(minor: str) -> None:
    recipe = control_plane(minor)
    patch = version(recipe).removeprefix(f"v{minor}.")
    assert patch.isdigit()
    assert set(replaced(minor).values()) == {f"v0.{minor.removeprefix('1.')}.{patch}"}
    assert f"-X=k8s.io/component-base/version.gitVersion=v{minor}.{patch}" in link_flags(recipe)


def test_all_are_built_from_one_program_but_the_oldest_one() -> None:
    """Its kubelet and kubectl are made otherwise; all else is the same."""
    programs = {
        minor: (recipe.folder / recipe.main).resolve()
        for minor, recipe in zip(RELEASES, map(control_plane, RELEASES), strict=True)
    }
    oldest, usual = programs.pop("1.33").read_text(), CONTROL_PLANES / PROGRAM
    assert {*programs.values()} == {usual}
    odd = [line for line in oldest.splitlines() if line not in usual.read_text().splitlines()]
    assert [line for line in odd if not line.startswith("//")] == [
        '\t"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand()) },'
    ]


def test_another_program_is_another_build(tmp_path: Path) -> None:
    shutil.copytree(control_plane(DEFAULT).folder, tmp_path / "1.0")
    (tmp_path / PROGRAM).write_text("package main\n")
    recipe = replace(control_plane(DEFAULT), folder=tmp_path / "1.0")
    before = key(recipe)
    (tmp_path / PROGRAM).write_text("package main // changed\n")
    assert key(recipe) != before


def test_each_is_kept_beside_the_others() -> None:
    assert len({key(control_plane(minor)) for minor in RELEASES}) == len(RELEASES)


def test_a_pinned_release_replaces_what_it_requires_without_a_version() -> None:
    upstream = "module k8s.io/kubernetes\n\ngo 1.26.0\n\nreplace (\n{}\n)\n".format(
        "\n".join(f"\t{name} => ./staging/src/{name}" for name in replaced("1.37"))
    )
    made = pin.go_mod("v1.37.2", upstream)
    pinned = (CONTROL_PLANES / "1.37" / "go.mod").read_text()
    assert "\ngo 1.26.0\n" in made
    assert made.splitlines()[-1] == ")"
    assert set(re.findall(r"^\t\S+ =>.*$", made, re.MULTILINE)) == set(
        re.findall(r"^\t\S+ =>.*$", pinned, re.MULTILINE)
    )
    assert {line for line in made.splitlines() if line.startswith("\tk8s.io/")} <= set(
        pinned.splitlines()
    )


def test_an_unknown_release_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), VARIABLE: "1.12"}
    with pytest.raises(SandboxError, match=r"Kubernetes '1.12': must be one of 1.33, 1.34"):
        Sandbox("demo", tmp_path, environ=environ).up()
    assert not (tmp_path / "demo").exists()


def test_a_release_beside_binaries_of_ones_own_is_refused(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), VARIABLE: DEFAULT, "EDL_BINARIES": str(tmp_path)}
    with pytest.raises(SandboxError, match=r"EDL_BINARIES=.* holds one already: unset it"):
        Sandbox("demo", tmp_path, environ=environ).up()


def test_a_sandbox_stays_the_release_as_which_it_was_made(tmp_path: Path) -> None:
    facts = Facts(1, 2, settled=True, release=RELEASES[0])
    path = tmp_path / "demo" / "sandbox.json"
    write_facts(path, facts)
    assert read_facts(path) == facts
    environ = {"HOME": str(tmp_path), VARIABLE: DEFAULT}
    wanted = f"demo was made with Kubernetes {RELEASES[0]}: end it first .*down --name demo"
    with pytest.raises(SandboxError, match=wanted):
        Sandbox("demo", tmp_path, environ=environ).up()


def test_a_sandbox_finds_the_kubectl_of_its_release(tmp_path: Path) -> None:
    made = Facts(1, 2, settled=True, release=RELEASES[0])
    write_facts(tmp_path / "demo" / "sandbox.json", made)
    for minor in RELEASES:
        kept = tmp_path / "cache" / "binaries" / key(control_plane(minor))
        kept.mkdir(parents=True)
    (tmp_path / "cache" / "binaries" / key(KWOK)).mkdir()
    environ = {"HOME": str(tmp_path), "EDL_CACHE": str(tmp_path / "cache"), "PATH": ""}
    old = Sandbox("demo", tmp_path, environ=environ)
    assert version(control_plane(RELEASES[0])) in str(old.kubectl_path)
    new = Sandbox("other", tmp_path, environ=environ | {VARIABLE: RELEASES[-1]})
    assert version(control_plane(RELEASES[-1])) in str(new.kubectl_path)
    usual = Sandbox("other", tmp_path, environ=environ)
    assert version(control_plane(DEFAULT)) in str(usual.kubectl_path)


@pytest.mark.parametrize("file", ["Dockerfile", ".dockerignore"])
def test_the_image_has_the_kubectl_of_the_usual_release(file: str) -> None:
    text = (ROOT / file).read_text()
    assert set(re.findall(r"sandbox/controlplane/([\d.]+)/go\.(?:mod|sum)", text)) == {DEFAULT}
