"""Lists and watches kinds, and keeps what they deliver."""
