"""Distances of a program's values between neighbours: rules, and refinements of them."""
