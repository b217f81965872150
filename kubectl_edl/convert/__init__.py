"""`kubectl edl convert`."""
