"""Queues of Kueue and of KAI Scheduler, read together, as one document of teams."""
