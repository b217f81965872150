"""Writes that change the sizes of roles: starts, resizes, restarts, and deadlines of scale-ups."""
