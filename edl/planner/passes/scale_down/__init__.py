"""Nodes that an autoscaler removes: which are needed, and how extras leave the others."""
