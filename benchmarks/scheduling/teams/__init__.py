"""Teams that lend and reclaim capacity: ours and Kueue on the same trace."""
