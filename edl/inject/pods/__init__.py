"""Completing a pod template."""
