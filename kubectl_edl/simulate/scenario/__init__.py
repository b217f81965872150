"""Reads scenarios for the simulator from YAML and CSV; all random values are drawn here."""
