"""Samples that somebody else drew: outputs, scores, counts, canaries, a stream."""
