"""A cluster in memory, under the same contract tests as a real one."""
