"""Builds programs from Go modules, and unpacks them from Debian packages, into the cache."""
