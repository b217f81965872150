"""What a training job needs to come back from a restart for a new size."""
