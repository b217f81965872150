"""The shell scripts that pods get as live files. POSIX sh; nothing but kubectl is assumed."""

from typing import Final

from edl import contract

DISCOVER_HOSTS: Final = f"""#!/bin/sh
# One host:slots a line. The file is replaced as a whole, so a reader never sees half a list.
exec cat {contract.EDL_HOSTFILE}
"""

_IN_THE_POD: Final = """
exec 3<&0
/bin/sh -c "$1" </dev/null 3<&- &
command=$!
trap : TERM
{
    while read -r line; do :; done
    trap "" TERM
    kill -TERM "-$$" || kill -TERM "$command"
    sleep 5
    kill -KILL "-$$" || kill -KILL "$command"
} <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-
while wait "$command"; status=$?; kill -0 "$command" 2>/dev/null; do :; done
kill -KILL "$watcher"
exit "$status"
"""
"""Runs its argument while standard input is open; then terminates it with all its processes.

A command does not end when its exec is aborted, but its standard input does. An exec begins a
process group, so `-$$` is every process in it, the shell included."""

KUBEXEC: Final = rf"""#!/bin/sh
# kubexec.sh HOST COMMAND...: run COMMAND by sh in the pod behind HOST, as ssh would.
# HOST is JOB-INDEX[.SERVICE...]; the pod is found by its Job and index, whatever its name.
kubectl={contract.KUBECTL_DIRECTORY}/kubectl
host=${{1%%.*}}
shift
job="{contract.JOB_NAME_LABEL}=${{host%-*}}"
index="{contract.COMPLETION_INDEX_ANNOTATION}=${{host##*-}}"
# A terminating pod still runs, beside its replacement.
staying='{{{{if not .metadata.deletionTimestamp}}}}{{{{.metadata.name}}}} {{{{end}}}}'
staying="{{{{range .items}}}}$staying{{{{end}}}}"
for pause in 1 2 4 8 0; do
    # With options of the connection, like --request-timeout, kubectl would not see it is in a pod.
    answered=yes
    for selector in "$job,$index" "{contract.HOST}=$host"; do # a Job's pod, or a bare one
        pods=$("$kubectl" get pods --selector="$selector" \
            --field-selector=status.phase=Running --output=go-template="$staying") || answered=
        [ -z "$answered" ] || [ -z "$pods" ] || break 2
    done
    [ -z "$answered" ] || break
    sleep "$pause" # the API server is away
done
pod=${{pods%% *}}
if [ -z "$pod" ]; then
    echo "kubexec: host $host has no running pod" >&2
    exit 1
fi
in_the_pod='{_IN_THE_POD}'
# Only this shell holds the writing end of what the command in the pod has as its standard input:
# it closes when we end, whatever ends us, and ends the command.
lifeline=${{kubectl%/*}}/lifeline-$$
rm -f "$lifeline"
mkfifo "$lifeline" || exit 1
exec 3<>"$lifeline" 4<"$lifeline"
rm -f "$lifeline"
"$kubectl" exec --quiet --stdin "$pod" -- /bin/sh -c "$in_the_pod" kubexec "$*" <&4 3>&- 4<&- &
command=$!
trap 'kill "$command" 2>/dev/null' TERM INT HUP
exec 4<&-
# An exec ends with its pod, but not when the pod's node is lost: no kubelet reports it then.
(
    trap 'kill "$!"; exit 0' TERM
    state='{{.status.phase}}'
    for kind in ContainersReady Ready; do
        state="$state/{{.status.conditions[?(@.type==\"$kind\")].status}}"
    done
    while kill -0 "$$"; do
        sleep 20 &
        wait "$!"
        found=$("$kubectl" get pod "$pod" --ignore-not-found --output=jsonpath="$state") || continue
        case $found in
        # Only the node controller says that ready containers do not make a ready pod.
        "" | Succeeded/* | Failed/* | Running/True/False) kill "$command" ;;
        esac
    done
) 3>&- >/dev/null 2>&1 &
watcher=$!
while wait "$command"; status=$?; kill -0 "$command" 2>/dev/null; do :; done
kill "$watcher" 2>/dev/null
exit "$status"
"""

_LEAVE: Final = """
leave() {
    # Not waited for: a process that has just begun may miss the signal, and gets it again.
    kill "$!" 2>/dev/null
    sleep 0
    while set -- /proc/[0-9]*; [ "$#" -gt 1 ]; do kill "$!" 2>/dev/null; sleep 1; done
    exit 143
}
trap leave TERM INT
"""

WAIT_FOR_COMMANDS: Final = f"""{_LEAVE}while :; do sleep 3600 & wait "$!"; done
"""
"""A worker's command: it waits for execs. On SIGTERM it waits until they have ended, within the
grace period.

So a process that its launcher stops, because the host list no longer names a terminating pod, ends
in order. The command never exits with 0: the index of a drained worker would then be complete and
never recreated, and the last one would complete the Job. A role that is to end for good is ended by
its size."""

WAIT_FOR_SSH: Final = f"""{_LEAVE}mkdir -p /run/sshd
ssh-keygen -A >/dev/null
/usr/sbin/sshd -D -e &
wait "$!"
echo "sshd has ended: is it in this image, and does the pod run as root?" >&2
exit 1
"""
"""As `WAIT_FOR_COMMANDS`, with ssh (et-operator's workers run `/usr/sbin/sshd && sleep 365d`).

On SIGTERM the server accepts no new connections, and its sessions continue."""
