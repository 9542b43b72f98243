"""Distinguishers, which score outputs for an audit, and attacks that measure recovery."""
