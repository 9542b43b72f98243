"""Programs for the checker, with one real number a node, from the program of a function."""
