"""Scenarios for the simulator: YAML and CSV in, worlds out. Whatever is random is drawn here."""
