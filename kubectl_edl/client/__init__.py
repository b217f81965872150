"""Reads and writes of the cluster that commands share."""
