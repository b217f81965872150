"""Decodes single objects to facts, once per version."""
