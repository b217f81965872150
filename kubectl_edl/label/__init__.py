"""`kubectl edl label` and `unlabel`."""
