"""Whole jobs that stop for claims: which may, which are chosen, and what becomes of them."""
