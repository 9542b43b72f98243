"""Audits of mechanisms whose law is known: losses that are computed, not counted."""
