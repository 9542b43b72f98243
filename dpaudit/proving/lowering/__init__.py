"""From what a function does to what the checker reads: programs of one real number a node."""
