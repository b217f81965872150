"""Completes pod templates."""
