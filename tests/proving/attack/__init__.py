"""The attack on the prover: programs from a grammar, and a search for pairs worse than proved."""
