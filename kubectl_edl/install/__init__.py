"""Installs, upgrades and uninstalls kubectl-edl."""
