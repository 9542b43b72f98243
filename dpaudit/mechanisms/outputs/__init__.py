"""Outputs of a mechanism as rows of doubles: parts, layouts, features."""
