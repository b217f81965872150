"""What an update of a stored Job or pod may change."""
