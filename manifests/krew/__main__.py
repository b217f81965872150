"""Runs the plugin in krew's archive, as `python3 lib`; every version of Python can read this."""

import sys

if sys.version_info < (3, 11):
    sys.exit("error: kubectl-edl needs Python 3.11 or newer as python3 on your PATH")
sys.argv[0] = "kubectl-edl"

try:
    from kubectl_edl.main import main
except ImportError as error:
    sys.exit(
        "error: this Python (%d.%d) cannot load %s: put another version as python3 on your PATH"  # noqa: UP031 - old versions of Python read this file
        % (*sys.version_info[:2], error.name or error)
    )

main()
