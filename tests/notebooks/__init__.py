"""Notebooks of the documentation: executed, stored with what they show, and executed again."""
