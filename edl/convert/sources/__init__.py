"""The source kinds, one module per kind."""
