"""`python -m reconciler`."""

from reconciler.main import main

main()
