"""Bets against a claim: bounds that hold whenever one stops."""
