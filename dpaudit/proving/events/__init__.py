"""Places where noise hides records, the cost of each release, and the cost of all together."""
