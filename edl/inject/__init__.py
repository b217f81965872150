"""Completes manifests on creation and restricts updates. Pure and idempotent."""
