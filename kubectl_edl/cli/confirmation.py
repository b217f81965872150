"""A question on the terminal before something is lost."""

from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext


def confirmed(world: CliContext, question: str) -> bool:
    """Raises Refused where no terminal can answer."""
    if not world.stdin.isatty():
        raise Refused(f"{question} Nobody can answer here: add --yes")
    world.err.write(f"{question} [y/N] ")
    world.err.flush()
    return world.stdin.readline().strip().lower() in ("y", "yes")
