"""Checks that decide the statements of hu2019, in exact arithmetic."""
