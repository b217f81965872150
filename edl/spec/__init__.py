"""What a labelled manifest asks for, read once with all findings."""
