"""Preemption of whole jobs: candidates, the choice of victims, and their suspension."""
