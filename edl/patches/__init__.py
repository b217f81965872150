"""JSON patches and merge patches."""
