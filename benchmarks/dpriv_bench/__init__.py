"""Category 1 of DPriv-Bench as a known answer: ``make dpriv-bench``."""
