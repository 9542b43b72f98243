"""dpaudit beside other packages, on the same work, in one run: ``make peers``."""
