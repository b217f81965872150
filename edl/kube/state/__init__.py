"""Turns decoded Kubernetes objects into the `ClusterState` that a decision reads."""
