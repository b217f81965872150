"""Manifests in files and streams."""
