"""`python -m dev.demo`: runs the demo in a sandbox of its own; fails if a promise is broken."""

import sys
import time
from pathlib import Path
from typing import Final

import click

from dev.demo.expectations import Expectations
from dev.demo.samples import Look, Sampler
from dev.demo.screen import Screen
from dev.demo.story import SceneFailed, Story
from dev.demo.training import Training
from dev.installation import install
from edl.kube.api.client import connect
from sandbox import NodeGroup, Sandbox, SandboxError
from sandbox.paths import CHECKOUT

_HELP: Final = """Elastic jobs on a real control plane with 20 simulated nodes, in about a minute.

\b
Examples:
  python -m dev.demo
  python -m dev.demo --keep
  python -m dev.demo --real
"""


@click.command(help=_HELP)
@click.option("--name", default="demo", show_default=True, help="The sandbox's name.")
@click.option("--real", is_flag=True, help="TensorFlow really trains, on one real node; as root.")
@click.option(
    "--keep", is_flag=True, help="Leave the sandbox up until the next run of this checkout."
)
def demo(name: str, *, real: bool, keep: bool) -> None:
    """The story, or real training; its verdict is the exit code."""
    screen = Screen()
    sandbox = Sandbox(name, say=screen.command)
    ends = f"{sys.executable} -m sandbox down --name {name}"
    if sandbox.checkout not in (None, str(CHECKOUT)):
        options = (" --real" if real else "") + (" --keep" if keep else "")
        raise click.ClickException(
            f"sandbox {name} was started from {sandbox.checkout}, and a demo would remove it: "
            f"{ends} ends it, and "
            f"{sys.executable} -m dev.demo --name {name}-2{options} leaves it up"
        )
    sandbox.down()
    try:
        broken = (_train if real else _play)(sandbox, screen)
    except KeyboardInterrupt:
        keep, broken = False, ["interrupted"]
    finally:
        if not keep:
            sandbox.down()
    if keep:
        programs = f"{Path(sys.executable).parent}:{sandbox.kubectl_path.parent}"
        screen.verdict(
            [
                "",
                f"export KUBECONFIG={sandbox.kubeconfig}",
                f"export PATH={programs}:$PATH   # kubectl, and kubectl edl",
                f"{ends}   # ends it",
            ]
        )
    sys.exit(1 if broken else 0)


def _play(sandbox: Sandbox, screen: Screen) -> list[str]:
    screen.scene(
        "A real etcd, API server, controller-manager and scheduler, and 20 simulated nodes"
    )
    begun = time.monotonic()
    started = sandbox.up(NodeGroup(count=20, cpu="4", memory="16Gi"))
    install(sandbox, sandbox.folder / "edl")
    screen.command(
        f"up in {started.seconds:.1f} s, with webhook and reconciler in "
        f"{time.monotonic() - begun:.1f} s"
    )
    expectations = Expectations()

    def see(look: Look) -> None:
        screen.sizes(look)
        expectations.see(look)

    sampler = Sampler(connect(str(sandbox.kubeconfig)), see)
    sampler.start()
    try:
        Story(sandbox, sampler, screen, expectations).play()
    except (SandboxError, SceneFailed) as failure:
        expectations.fail(str(failure))
    finally:
        sampler.stop()
    screen.verdict(_verdict(expectations))
    return expectations.broken


def _train(sandbox: Sandbox, screen: Screen) -> list[str]:
    try:
        broken = Training(sandbox, screen).play()
    except SandboxError as failure:
        broken = [str(failure)]
    kept = "All guarantees held: training continued, and chief and ps were never restarted."
    screen.verdict(["", *(f"BROKEN: {promise}" for promise in broken)] if broken else ["", kept])
    return broken


def _verdict(expectations: Expectations) -> list[str]:
    if expectations.broken:
        end = [f"BROKEN: {promise}" for promise in expectations.broken]
    else:
        end = ["All guarantees held: chief and ps kept their pods, and no job fell below its min."]
    return ["", *expectations.table(), "", *end]


if __name__ == "__main__":
    demo()
