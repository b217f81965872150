"""Completing a manifest: `mutate` for creation, `guard` for updates. Pure, and twice is once."""
