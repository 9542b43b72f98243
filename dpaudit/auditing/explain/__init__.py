"""Explanations: which event shows a refutation, of which parts, from which line."""
