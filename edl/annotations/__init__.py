"""Typed values that decisions keep on Jobs and pods, as text."""
