"""A file that keeps the outputs of an audit: an interrupted one goes on without repeats."""
