"""List and watch, and what is kept of it."""
