"""Runs the plugin as `python -m kubectl_edl`, for when the console script is not on PATH."""

from kubectl_edl.main import main

main()
