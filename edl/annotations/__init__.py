"""Typed values that decisions keep in annotations of Jobs and pods."""
