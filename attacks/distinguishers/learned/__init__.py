"""A score learned from outputs of both datasets."""
