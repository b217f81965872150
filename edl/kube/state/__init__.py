"""From objects to the state of the cluster that a decision sees."""
