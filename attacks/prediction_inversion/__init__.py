"""Raw tuples from the predictions that a server of joined tables receives."""
