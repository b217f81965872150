"""Launchers' host lists, and the workers on them."""
