"""`kubectl edl plan`."""
