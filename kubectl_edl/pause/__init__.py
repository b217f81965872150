"""`kubectl edl pause` and `resume`."""
