"""Parses a labelled manifest into a JobSpec, or reports all findings at once."""
