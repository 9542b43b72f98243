"""Audits of one run with canaries."""
