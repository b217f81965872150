"""Benchmarks: they measure and never fail because of a time."""
