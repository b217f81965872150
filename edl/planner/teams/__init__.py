"""Capacity between teams: what each holds and is owed, and what a claim may take of others."""
