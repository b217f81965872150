"""`kubectl edl dashboard`: one page, live, from one watcher; what it says, the plugin says too."""
