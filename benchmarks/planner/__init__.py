"""The cost of decisions, of reading state and of simulation, without a control plane."""
