"""Replicas above the minimum: which they are, what they hold, and which role yields next."""
