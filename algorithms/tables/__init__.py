"""ADMM over joined tables."""
