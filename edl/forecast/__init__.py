"""When waiting training jobs start and running ones grow, as far as anybody can know."""
