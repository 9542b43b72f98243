"""Distinguishers: scores that an audit learns on some outputs and certifies on others."""
