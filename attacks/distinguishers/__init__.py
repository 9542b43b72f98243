"""Scores of outputs: higher on those that rather come from the dataset."""
