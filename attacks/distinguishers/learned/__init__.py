"""A score learned from transcripts of both datasets."""
