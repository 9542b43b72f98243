"""CheckDP's seventeen programs, proved or refuted: ``make checkdp``."""
