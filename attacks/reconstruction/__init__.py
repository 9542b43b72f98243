"""Guessing a record among candidates, beside the most that anybody can."""
