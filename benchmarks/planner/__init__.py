"""What decisions, state and simulation cost, without a control plane."""
