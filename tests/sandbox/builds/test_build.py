from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from sandbox.builds import toolchain
from sandbox.builds.build import BuildEnvironment, built, kept
from sandbox.builds.recipe import KWOK, key, version
from sandbox.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sandbox.builds.recipe import Recipe

    WithGo = Callable[..., dict[str, str]]


def quiet(_line: str) -> None: ...


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_the_recipe_pins_its_version() -> None:
    assert version(KWOK) == "v0.8.0"


def test_the_key_names_the_build_and_stays_the_same(recipe: Recipe) -> None:
    assert key(recipe).startswith("tool-v1.2.3-")
    assert key(recipe) == key(recipe)


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_the_key_changes_with_every_input(recipe: Recipe, file: str) -> None:
    before = key(recipe)
    with (recipe.folder / file).open("a") as stream:
        stream.write("\n")
    assert key(recipe) != before


def test_the_key_changes_with_the_processor(recipe: Recipe) -> None:
    assert key(recipe, "amd64") != key(recipe, "arm64")


def test_the_key_changes_with_the_build_tags(recipe: Recipe) -> None:
    assert key(dataclasses.replace(recipe, tags=("small",))) != key(recipe)


def test_a_build_is_kept_with_its_links(recipe: Recipe, cache: Path, with_go: WithGo) -> None:
    folder = built(recipe, BuildEnvironment(cache, with_go(), io.StringIO()), quiet)
    assert folder == kept(recipe, cache)
    said = subprocess.run([folder / "alias"], capture_output=True, text=True, check=True).stdout
    assert said == "tool v1.2.3\n"


def test_files_of_the_module_are_kept_beside_its_programs(
    recipe: Recipe, cache: Path, tmp_path: Path, with_go: WithGo
) -> None:
    crds = tmp_path / "upstream" / "crds"
    crds.mkdir(parents=True)
    (crds / "pools.yaml").write_text("kind: CustomResourceDefinition")
    (crds / "pools.yaml").chmod(0o444)
    environ = with_go(env=f"echo go1.26.0; exit; elif [ $1 = list ]; then echo {crds.parent}; exit")
    with_files = dataclasses.replace(recipe, files=("crds",))
    assert key(with_files) != key(recipe)
    folder = built(with_files, BuildEnvironment(cache, environ, io.StringIO()), quiet)
    assert (folder / "pools.yaml").read_text() == "kind: CustomResourceDefinition"


def test_what_is_kept_needs_no_go(recipe: Recipe, cache: Path, with_go: WithGo) -> None:
    built(recipe, BuildEnvironment(cache, with_go(), io.StringIO()), quiet)
    assert built(recipe, BuildEnvironment(cache, {"PATH": ""}), quiet) == kept(recipe, cache)


def test_a_failed_build_leaves_nothing_and_names_its_log(
    recipe: Recipe, cache: Path, with_go: WithGo
) -> None:
    environ = with_go('echo half > "$2"tool; echo no room >&2; exit 1')
    with pytest.raises(BuildError, match=r"cannot build example.org/tool.*build-tool.*\nno room"):
        built(recipe, BuildEnvironment(cache, environ, io.StringIO()), quiet)
    assert list((cache / "binaries").iterdir()) == []


def test_a_binary_that_says_another_version_is_not_kept(
    recipe: Recipe, cache: Path, with_go: WithGo
) -> None:
    environ = with_go('printf \'#!/bin/sh\\necho v0.0.0\' > "$2"tool; chmod +x "$2"tool')
    with pytest.raises(BuildError, match=r"says 'v0.0.0' instead of v1.2.3"):
        built(recipe, BuildEnvironment(cache, environ, io.StringIO()), quiet)
    assert list((cache / "binaries").iterdir()) == []


def test_a_killed_build_leaves_no_half_binary(recipe: Recipe, cache: Path, with_go: WithGo) -> None:
    environ = with_go('echo half > "$2"tool; sleep 5')
    script = (
        "import io, sys; from pathlib import Path\n"
        "from sandbox.builds.build import BuildEnvironment, built\n"
        "from sandbox.builds.recipe import Recipe\n"
        "recipe = Recipe('tool', Path(sys.argv[1]), ('.',), ('tool',), 'example.org/tool')\n"
        f"built(recipe, BuildEnvironment(Path(sys.argv[2]), {environ!r}), print)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script, str(recipe.folder), str(cache)])
    while not list(cache.glob("binaries/.*/whole/tool")):
        assert run.poll() is None
        time.sleep(0.01)
    run.kill()
    run.wait()
    assert not kept(recipe, cache).exists()
    built(recipe, BuildEnvironment(cache, with_go(), io.StringIO()), quiet)
    assert list((cache / "binaries").iterdir()) == [kept(recipe, cache)]


def test_two_at_once_build_once(recipe: Recipe, cache: Path, with_go: WithGo) -> None:
    counted = cache.parent / "count"
    environ = with_go(
        f"echo x >> {counted}; sleep 0.5; "
        'printf "#!/bin/sh\\necho v1.2.3" > "$2"tool; chmod +x "$2"tool'
    )
    said: list[str] = []
    build_env = BuildEnvironment(cache, environ, io.StringIO())
    both = [threading.Thread(target=built, args=(recipe, build_env, said.append)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert counted.read_text() == "x\n"
    assert [line.startswith("waiting: another process builds") for line in said] == [True]


def test_no_go_is_said_in_one_line_with_the_way_out(recipe: Recipe, cache: Path) -> None:
    with pytest.raises(BuildError) as caught:
        built(recipe, BuildEnvironment(cache, {"PATH": ""}, io.StringIO()), quiet)
    assert str(caught.value) == (
        "Go 1.26.0 or newer is needed to build Kubernetes and is not on PATH: "
        "install it from go.dev/dl, or name a folder with the binaries in EDL_BINARIES"
    )


def test_an_old_go_is_said_with_what_it_says_itself(
    recipe: Recipe, cache: Path, with_go: WithGo
) -> None:
    said = "go: go.mod requires go >= 1.26.0 (running go 1.21.1; GOTOOLCHAIN=local)"
    environ = with_go(env=f"echo '{said}' >&2; exit 1")
    with pytest.raises(BuildError, match=r"Go 1.26.0 or newer .*running go 1.21.1.*EDL_BINARIES"):
        built(recipe, BuildEnvironment(cache, environ, io.StringIO()), quiet)


@pytest.mark.parametrize(("environ", "percentage"), [({}, "400"), ({"GOGC": "50"}, "50")])
def test_the_compiler_collects_garbage_rarely_unless_the_user_says_otherwise(
    environ: dict[str, str], percentage: str
) -> None:
    assert toolchain.environment(environ)["GOGC"] == percentage
