"""Why jobs wait, start or change their size, and what they lack."""
