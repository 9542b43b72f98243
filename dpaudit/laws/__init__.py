"""Mechanisms whose law is known, step by step."""
