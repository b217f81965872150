"""What can go wrong, as messages for the person in front of the terminal."""


class SandboxError(Exception):
    """One line that says what is wrong and the way out; lines of a log may follow it."""


class BuildError(SandboxError):
    """The Kubernetes binaries could not be found or built."""


class ComponentDied(SandboxError):
    """A process that should run does not; the message ends with the last lines of its log."""
