"""A file that keeps what an audit has drawn: what is interrupted goes on, and nothing is redone."""
