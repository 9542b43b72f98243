"""Statements on ADMM sharing, decided on instances in exact arithmetic."""
