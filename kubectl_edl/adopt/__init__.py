"""`kubectl edl adopt` and `release`."""
