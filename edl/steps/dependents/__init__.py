"""Objects around a training job, owned by its Jobs."""
