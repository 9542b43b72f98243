"""Which programs are proved, and at which line a proof of the others stops: ``make proofs``."""
