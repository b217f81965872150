"""The shell scripts that pods get as live files. POSIX sh; nothing but kubectl is assumed."""

from typing import Final

from edl import contract

DISCOVER_HOSTS: Final = f"""#!/bin/sh
# One host:slots a line. The file is replaced as a whole, so a reader never sees half a list.
exec cat {contract.EDL_HOSTFILE}
"""

KUBEXEC: Final = rf"""#!/bin/sh
# kubexec.sh HOST COMMAND...: run COMMAND by sh in the pod behind HOST, as ssh would.
# HOST is JOB-INDEX[.SERVICE...]; the pod is found by its Job and index, whatever its name.
kubectl={contract.KUBECTL_DIRECTORY}/kubectl
host=${{1%%.*}}
shift
job="{contract.JOB_NAME_LABEL}=${{host%-*}}"
index="{contract.COMPLETION_INDEX_ANNOTATION}=${{host##*-}}"
pod=$("$kubectl" get pods --field-selector=status.phase=Running --selector="$job,$index" \
    --output=name | head -n 1)
if [ -z "$pod" ]; then
    echo "kubexec: host $host has no running pod" >&2
    exit 1
fi
"$kubectl" exec "$pod" -- /bin/sh -c "$*" &
command=$!
trap 'kill "$command" 2>/dev/null' TERM INT
# An exec may outlive its pod when the node is lost: end it when the pod is gone, and only then.
(
    trap 'kill "$!"; exit 0' TERM
    while :; do
        "$kubectl" wait --for=delete "$pod" --timeout=1h &
        wait "$!" && break
        sleep 5 &
        wait "$!"
    done
    kill "$command"
) >/dev/null 2>&1 &
watcher=$!
wait "$command"
status=$?
kill "$watcher" 2>/dev/null
exit "$status"
"""

WAIT_FOR_COMMANDS: Final = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"
"""A worker's command: waits for execs, and leaves with 0 when it is asked to."""
