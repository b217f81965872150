"""Turns steps into requests: patches, creations, Events."""
