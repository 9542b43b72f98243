"""The ledger of a paper's statements: verdicts from evidence, causes, and their counts."""
