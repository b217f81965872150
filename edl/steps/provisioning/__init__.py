"""Provisional pods: made, kept and taken away as a plan asks."""
