"""Claims about an algorithm's iterates that are inequalities: both sides, and where to search."""
