"""`kubectl edl doctor`."""
