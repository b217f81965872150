"""`python -m reconciler`."""

from reconciler.command_line import main

main()
