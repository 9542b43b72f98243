"""Readers of files that somebody else wrote: arrays, columns, records, scores, counts."""
