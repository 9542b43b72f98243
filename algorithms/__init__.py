"""The papers' algorithms, a family a folder: the code, its law, its claims and its proofs."""
