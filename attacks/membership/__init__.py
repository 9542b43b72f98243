"""Membership inference on final models."""
