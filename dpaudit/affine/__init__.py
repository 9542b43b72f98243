"""Recursions that are affine in private data and Gaussian noise: who learns how much, exactly."""
