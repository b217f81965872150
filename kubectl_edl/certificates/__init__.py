"""`kubectl edl certs`."""
