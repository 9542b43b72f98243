"""Checks of certificates about equations of the proof of Theorem 7 of Huang & Gong."""
