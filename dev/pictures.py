"""`python -m dev.pictures`: takes screenshots of the dashboard, on a real control plane."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
from playwright.sync_api import Browser, Page, ViewportSize

from dev.browser import browser
from dev.demo.samples import NAMESPACE
from dev.demo.story import MANIFESTS
from dev.installation import install
from edl import contract
from kubectl_edl.cli.context import Scope
from kubectl_edl.dashboard.options import DashboardOptions
from kubectl_edl.dashboard.run_dashboard import started
from kubectl_edl.main import this_process
from sandbox import NodeGroup, Sandbox

_WEB: Final = (12, 0, 5)
"""The replicas of a service with priority in each scene: elastic jobs shrink for it."""
_SCENE_SECONDS: Final = 20
_TEAMS: Final = f"""\
teams:
- {{name: lab, guaranteed: {{cpu: 64}}}}
- {{name: vision, parent: lab, namespaces: [{NAMESPACE}], guaranteed: {{cpu: 24}}, weight: 2}}
- {{name: speech, parent: lab, namespaces: [speech], guaranteed: {{cpu: 32}}}}
"""
_DESK: Final = ViewportSize(width=1280, height=1000)
_PHONE: Final = ViewportSize(width=390, height=844)


_HELP: Final = """Draw the dashboard while the demo's jobs run: light, dark, a phone, a job, teams.

\b
Examples:
  python -m dev.pictures
  python -m dev.pictures --output /tmp/pictures
"""


@click.command(help=_HELP)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("docs/images"),
    show_default=True,
)
def pictures(output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    sandbox = Sandbox("pictures", say=click.echo)
    sandbox.down()
    try:
        with _demo(sandbox) as url, browser() as found:
            for path in (*_drawn(found, url, output), _with_teams(sandbox, found, url, output)):
                click.echo(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    finally:
        sandbox.down()


@contextmanager
def _demo(sandbox: Sandbox) -> Iterator[str]:
    """The URL of a dashboard that has recorded the demo's jobs for a minute."""
    sandbox.up(NodeGroup(count=20, cpu="4", memory="16Gi"))
    install(sandbox, sandbox.folder / "edl")
    sandbox.kubectl("create", "namespace", NAMESPACE)
    sandbox.kubectl("label", "namespace", NAMESPACE, f"{contract.KUBEXEC}={contract.ENABLED}")
    cli = this_process()
    scope = Scope(namespace=NAMESPACE, kubeconfig=str(sandbox.kubeconfig))
    running = started(cli, cli.connect(scope), DashboardOptions(port=0))
    try:
        for name in ("mnist", "resnet", "bert", "web"):
            sandbox.kubectl("apply", "-n", NAMESPACE, "-f", str(MANIFESTS / f"{name}.yaml"))
        for replicas in _WEB:
            scale = ("scale", "deployment", "web", f"--replicas={replicas}")
            sandbox.kubectl("-n", NAMESPACE, *scale)
            time.sleep(_SCENE_SECONDS)
        yield running.url
    finally:
        running.stop()


def _drawn(found: Browser, url: str, output: Path) -> Iterator[Path]:
    for name, draw in {"light": _light, "dark": _dark, "phone": _phone, "job": _job}.items():
        page = draw(found, url)
        path = output / f"dashboard-{name}.png"
        page.screenshot(path=path)
        page.context.close()
        yield path


def _with_teams(sandbox: Sandbox, found: Browser, url: str, output: Path) -> Path:
    """A picture of the section on teams: the same jobs belong to a team that borrows."""
    teams = (
        "configmap",
        contract.TEAMS_CONFIG_MAP,
        f"--from-literal={contract.TEAMS_KEY}={_TEAMS}",
    )
    sandbox.kubectl("-n", contract.SYSTEM_NAMESPACE, "create", *teams)
    page = _light(found, url)
    section = page.locator("#teams")
    section.locator("tbody tr").first.wait_for()
    path = output / "dashboard-teams.png"
    section.screenshot(path=path)
    page.context.close()
    return path


def _light(found: Browser, url: str) -> Page:
    return _opened(found.new_context(viewport=_DESK, reduced_motion="reduce").new_page(), url)


def _dark(found: Browser, url: str) -> Page:
    """The page in dark colours, with the forecast for another max of mnist."""
    context = found.new_context(viewport=_DESK, color_scheme="dark", reduced_motion="reduce")
    page = context.new_page()
    _opened(page, url)
    page.get_by_label("Training job", exact=True).select_option(f"{NAMESPACE}/mnist")
    page.get_by_role("slider").fill("4")
    page.get_by_text("With a max of 4").wait_for()
    page.locator("#imagine").evaluate("(section) => section.scrollIntoView()")
    return page


def _phone(found: Browser, url: str) -> Page:
    context = found.new_context(
        viewport=_PHONE, device_scale_factor=2, is_mobile=True, reduced_motion="reduce"
    )
    page = _opened(context.new_page(), url)
    page.locator("#jobs").evaluate("(section) => section.scrollIntoView()")
    return page


def _job(found: Browser, url: str) -> Page:
    """The page of mnist."""
    page = _light(found, url)
    page.get_by_role("table", name="Training jobs").get_by_role("link", name="mnist").click()
    page.locator("#pods-table tbody tr").first.wait_for()
    return page


def _opened(page: Page, url: str) -> Page:
    page.goto(url)
    page.locator("#state[data-state=live]").wait_for()
    page.locator("#jobs-table tbody tr").first.wait_for()
    return page


if __name__ == "__main__":
    pictures()
