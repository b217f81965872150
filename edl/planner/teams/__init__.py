"""Capacity between teams: usage, guarantees, lending, and what a claim may reclaim from others."""
