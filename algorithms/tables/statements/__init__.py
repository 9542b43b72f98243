"""The ledger of the papers of this family: each statement, its evidence and its cause."""
