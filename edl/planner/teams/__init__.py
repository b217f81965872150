"""Capacity between teams: usage, guarantees, lending, and what claims may reclaim from others."""
