"""Turns a plan into writes: a step per training job, a pure function of the observed state."""
