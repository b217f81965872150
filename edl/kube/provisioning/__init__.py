"""Reads the answers of node autoscalers."""
