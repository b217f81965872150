"""What pods and records of a training job say of its past and present state."""
