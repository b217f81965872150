"""`kubectl edl events`."""
