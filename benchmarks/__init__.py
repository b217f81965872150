"""Measured figures; nothing here asserts a time."""
