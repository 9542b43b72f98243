"""Checks of statements of Huang & Gong: proofs and counterexamples in exact arithmetic."""
