"""Metrics and logs of the reconciler and the cluster."""
