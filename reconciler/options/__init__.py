"""Command-line options of the reconciler."""
