"""A labelled manifest is read into a JobSpec, or into all findings at once."""
