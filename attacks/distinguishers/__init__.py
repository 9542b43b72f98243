"""Scores of transcripts: higher on those that rather come from the dataset."""
