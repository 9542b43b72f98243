"""Distinguishers, which score transcripts for an audit, and attacks that measure recovery."""
