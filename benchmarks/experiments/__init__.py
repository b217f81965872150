"""The published experiments with and without kubectl-edl, simulated and on a real control plane."""
