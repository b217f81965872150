"""`kubectl edl dashboard`: one live page with the same data as the commands."""
