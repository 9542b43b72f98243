"""PyDP, Google's differential privacy for Python: its algorithms and mechanisms."""
