"""Gangs on a real kube-scheduler, with kubectl-edl and with Kueue."""
