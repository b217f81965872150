"""Converts all queues of Kueue and KAI Scheduler together into one document of teams."""
