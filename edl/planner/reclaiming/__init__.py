"""Reclaim: capacity that is reserved for a claim, and which extras are removed for it."""
