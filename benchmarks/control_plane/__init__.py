"""Latencies and rates on a real control plane."""
