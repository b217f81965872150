"""kubectl-edl's own certificate authority: issues, stores, renews and installs certificates."""
