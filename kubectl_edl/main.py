"""The plugin's entry point, and the one place where it exits."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

import click

from edl.errors import Denied, EdlError, Forbidden, WebhookAway
from kubectl_edl.cli.command_errors import Exit, Refused, exit_code
from kubectl_edl.cli.context import CliContext, ClusterConnection, ServerWarnings
from kubectl_edl.cli.root import CLI
from kubectl_edl.cli.terminal import Attention, draws, knows_unicode, listening, printing, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import timedelta

    from edl.kube.cluster import ListOptions, PluginCluster
    from kubectl_edl.cli.context import Scope


_YOUNG: Final = 200_000
"""Allocations between two garbage collections: objects read from Jobs are rarely garbage."""

_CALLBACK: Final = 0.05
"""Seconds after which a callback that dropped an interrupt has returned."""


_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing for which no line of this program is to blame."""
_CHANGING: Final = frozenset({"delete", "pause", "resume", "scale"})
"""Commands that read Jobs and change them: a role that may only read them does not suffice."""


def main() -> None:
    """The console script `kubectl-edl`."""
    gc.set_threshold(_YOUNG)
    sys.unraisablehook = _repeat_interrupt
    code = run(sys.argv[1:], this_process(), os.environ)
    # os._exit skips them; the client of Kubernetes removes temporary files with keys by one.
    atexit._run_exitfuncs()  # noqa: SLF001
    _leave(code)


def _repeat_interrupt(ignored: sys.UnraisableHookArgs) -> None:
    """Send Ctrl-C again: Python drops it where it comes during the callback of a weak reference.

    An import calls such a callback for each module, and a command imports during most of its start.
    """
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        main_thread = threading.main_thread().ident or 0
        threading.Timer(_CALLBACK, signal.pthread_kill, (main_thread, signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(ignored)


def _leave(code: int) -> None:
    """Exit at once: Python would first join the workers of thread pools, even after Ctrl-C.

    A worker of `PrefetchedLists` may wait long for the API server. Python would also free all
    modules and objects, which takes time after reading a thousand Jobs.
    """
    for stream in (sys.stdout, sys.stderr):
        # Closed streams: `run` has already reported what it could.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def run(args: Sequence[str], cli: CliContext, environ: Mapping[str, str]) -> int:
    """Run one command line and return its exit code; every error becomes one line on stderr."""
    asked: list[Scope] = []
    command = ""

    def connected(scope: Scope) -> ClusterConnection:
        asked.append(scope)
        return cli.connect(scope)

    try:
        # Not CLI.main: it exits by itself (with 1 on a closed pipe) and writes to stderr.
        with CLI.make_context(
            "kubectl edl", list(args), obj=replace(cli, connect=connected)
        ) as context:
            try:
                CLI.invoke(context)
            finally:
                command = context.invoked_subcommand or ""
        cli.out.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        return _misused(error, cli)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except BrokenPipeError:  # a reader such as `| head` has closed the pipe
        _silence_stdout()
    except Exception as error:
        if environ.get("EDL_DEBUG"):
            raise
        if not isinstance(error, EdlError):
            return _unexpected(error, cli, command, environ)
        return _failed(error, cli, asked, command)
    return Exit.DONE


def _misused(error: click.UsageError, cli: CliContext) -> int:
    from kubectl_edl.crash_file import redacted

    path = error.ctx.command_path if error.ctx else "kubectl edl"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        cli.out.write(f"{error.format_message()}\n")
        return Exit.DONE
    cli.warn(f"error: {redacted(error.format_message())}")
    cli.warn(f"See '{path} --help' for usage.")
    return Exit.USAGE


def _unexpected(error: Exception, cli: CliContext, command: str, environ: Mapping[str, str]) -> int:
    from msgspec import ValidationError

    from kubectl_edl.crash_file import redacted, write_crash

    if isinstance(error, OSError) and error.errno in _FULL:
        cli.warn(f"error: the output cannot be written: {error.strerror}")
        return Exit.REFUSED
    path = write_crash(error, command, cli.now(), environ)
    where = f"its traceback: {path}" if path else "EDL_DEBUG=1 shows where it comes from"
    what = f"unexpected {type(error).__name__}"
    if isinstance(error, ValidationError):  # of a list's items, each of which is decoded alone
        what = "an object of the API server is not as Kubernetes defines it"
        where = f"check the server's address; {where}"
    cli.warn(f"error: {what}: {redacted(str(error))}; {where}")
    return Exit.REFUSED


def _failed(error: EdlError, cli: CliContext, asked: Sequence[Scope], command: str) -> int:
    from kubectl_edl.crash_file import redacted

    findings = error.findings if isinstance(error, Denied) else ()
    cli.warn(*(f"error: {redacted(str(line))}" for line in findings or (error,)))
    if isinstance(error, WebhookAway) or isinstance(error.__cause__, WebhookAway):
        flags = asked[-1].edl_flags if asked else ""
        cli.warn(f"hint: the webhook of kubectl-edl did not answer: kubectl edl doctor{flags}")
    refused = isinstance(error, Forbidden) and error.status == HTTPStatus.FORBIDDEN
    if refused and asked and asked[-1].all_namespaces:
        cli.warn("hint: -A needs this right in the whole cluster; -n NAMESPACE shows one namespace")
    if refused and command in _CHANGING:
        from edl.kube.auth.user_roles import EDITOR

        cli.warn(
            f"hint: if you lack a right: the ClusterRole {EDITOR} has all that {command} needs"
        )
    return exit_code(error)


def _connect(on_warning: Callable[[str], None], scope: Scope) -> ClusterConnection:
    from edl.kube.api.client import connect
    from edl.kube.auth.kubeconfig import ConfigOverrides

    impersonated = {"as": scope.as_user, "as-uid": scope.as_uid, "as-groups": [*scope.as_groups]}
    overrides = ConfigOverrides(
        context=scope.context,
        cluster=scope.cluster,
        user=scope.user,
        impersonation={name: value for name, value in impersonated.items() if value},
        system_namespace=scope.system_namespace,
        flags=scope.cluster_flags,
    )
    server = connect(scope.kubeconfig or None, overrides, on_warning)
    if scope.request_timeout:
        server = server.within(scope.request_timeout.total_seconds())
    namespace = "" if scope.all_namespaces else scope.namespace or server.default_namespace
    return ClusterConnection(server, namespace, server.server, scope)


def _changes(
    attention: Attention,
    cluster: PluginCluster,
    selection: ListOptions,
    deadlines: Sequence[timedelta] = (),
) -> Iterator[None]:
    from kubectl_edl.client.change_watch import wakes

    return wakes(cluster, selection, attention, deadlines)


def _watched(
    attention: Attention, cluster: PluginCluster, selections: Sequence[ListOptions]
) -> PluginCluster:
    from kubectl_edl.client.change_watch import watched

    return watched(attention, cluster, selections)


def _kubectl(arguments: Sequence[str], text: str) -> int:
    """Run kubectl, whose plugin this is, so that it is normally installed and configured."""
    import subprocess
    from shutil import which

    if which("kubectl") is None:
        raise Refused("kubectl is not on your PATH, and scripts run by it")
    return subprocess.run(["kubectl", *arguments], input=text, text=True, check=False).returncode


def this_process() -> CliContext:
    """The context of this process: its own streams, clock and cluster."""
    out, err = printing(sys.stdout), printing(sys.stderr)
    stdin, attention = reading(sys.stdin), Attention()
    drawn = draws(out, os.environ)
    return CliContext(
        out=out,
        err=err,
        stdin=stdin,
        now=lambda: datetime.now(UTC),
        sleep=time.sleep,
        connect=partial(_connect, ServerWarnings(err)),
        changes=partial(_changes, attention),
        watched=partial(_watched, attention),
        listening=partial(listening, attention, stdin),
        width=get_terminal_size().columns if drawn else None,
        size=get_terminal_size if drawn else None,
        coloured=drawn and not os.environ.get("NO_COLOR"),  # https://no-color.org
        unicode=knows_unicode(os.environ),
        kubectl=_kubectl,
    )


def _silence_stdout() -> None:
    """Redirect stdout, because the interpreter flushes it again on exit, which must not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
