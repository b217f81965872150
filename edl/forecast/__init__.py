"""Estimates of when waiting training jobs start and running ones grow."""
