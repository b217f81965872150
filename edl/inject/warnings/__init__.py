"""Warnings about manifests that are valid but probably not what their users meant."""
