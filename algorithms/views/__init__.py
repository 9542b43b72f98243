"""The view of an observer of a network, where noise is Gaussian: exact, and who learns how much."""
