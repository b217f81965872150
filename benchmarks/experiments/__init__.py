"""The published experiments with and without us: simulated, and on a real control plane."""
