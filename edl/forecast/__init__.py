"""When waiting training jobs start and running ones grow, as far as that can be known."""
