"""The pages of docs/reference that are generated from code."""
