"""From steps to requests: patches, creations, Events."""
