"""Errors whose message is written for the user at the terminal."""


class SandboxError(Exception):
    """One line with the problem and its remedy; lines of a log may follow."""


class BuildError(SandboxError):
    """The Kubernetes binaries could not be found or built."""


class ComponentDied(SandboxError):
    """A process that should run has died; the message ends with the last lines of its log."""
