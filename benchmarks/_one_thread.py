"""Hold every numerical library to one thread: import this before numpy."""

from __future__ import annotations

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

for _name in VARIABLES:
    os.environ[_name] = "1"
