"""A mechanism that reads a database, and makes files of its own in every call."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np


class ReadsAndWrites:
    def sample(self, dataset, trials, rng):
        with closing(sqlite3.connect(f"{os.environ['SLIPS']}.sqlite")) as settings:
            scale = settings.execute("select value from scale").fetchone()[0]
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder, "outputs.npy")
            np.save(kept, dataset.sum() + rng.laplace(scale=scale, size=trials))
            return np.load(kept)
