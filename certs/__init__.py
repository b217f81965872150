"""kubectl-edl's own certificate authority: issue, keep, renew and install certificates."""
