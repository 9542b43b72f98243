"""Command lines that are in order, and the files that they name."""

import json
import random
from typing import NamedTuple

MODULE = """
import numpy as np

class Broken:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=0.2, size=trials)
"""
AUDIT = """
[[audit]]
mechanism = "fuzzed:Broken"
name = "one"
statement = "it is private"
relation = "replace-record"
dataset = [0.0, 2]
neighbour = [1.0, 2]
epsilon = 1.0
delta = 1e-5
trials = 100
confidence = 0.95
seed = 3
estimator = "event"
"""
CLAIMS = """
[[audit]]
claim = "huang2020-lemma5"
trials = 100

[[audit]]
claim = "tables-theorem1"
epsilon = 1.0
delta = 0.00001
confidence = 0.9
trials = 100
parameters = {}
"""
RELEASES = """
[[release]]
kind = "gaussian"
noise_scale = 4.0
count = 10

[[release]]
kind = "laplace"
noise_scale = 10.0
count = 20
"""
TABLE = "first,second,label\n0.1,0.2,1\n0.3,0.1,-1\n0.5,0.5,1\n0.4,0.4,-1\n0.2,0.3,1\n0.1,0.6,-1\n"
SPARSE = "".join(f"{'+-'[i % 2]}1 1:0.{i + 1} {2 + i % 3}:0.{9 - i}\n" for i in range(8))
POINTS = "0.0,2\n1.5,3\n"
FROM_FILES = AUDIT.replace("[0.0, 2]", '"points.csv"').replace("[1.0, 2]", '"others.csv"')

DATA = ("audit", "huang2020-lemma5", "--set", "nodes=1", "--trials", "100", "--workers", "1")
CSV = (*DATA, "--data", "csv", "--data-path", "table.csv", "--data-option", "label_column=label")
LIBSVM = (*DATA, "--data", "libsvm", "--data-path", "sparse.txt")
OWN = ("audit", "audit.toml", "--workers", "1")
WATCH = ("audit", "--watch", "stream.txt", "--epsilon", "1", "--delta", "0")
OUT = ("--out", "out")
CALIBRATE = ("calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-5", "--set", "count=3")
ATTACK = ("attack", "likelihood-ratio", "--set", "claim=huang2020-theorem6", "--seed", "5")


def stream():
    """Return lines of a mechanism that is watched."""
    rng = random.Random(0)
    sides = [rng.choice(("dataset", "neighbour")) for _ in range(60)]
    return "".join(f"{side},{rng.gauss(side == 'dataset', 0.3):.3f}\n" for side in sides)


class Example(NamedTuple):
    """A command line, how it ends, and the files that it names, of which the first is its point."""

    arguments: tuple[str, ...]
    status: int
    files: dict[str, str]
    quick: bool = True


def examples(certificates):
    """Return them; ``certificates`` are texts of some that stand, of which the first is small."""
    files = {"audit.toml": FROM_FILES, "points.csv": POINTS, "others.csv": POINTS.replace("3", "4")}
    return [
        *(
            Example(("verify", "certificate.json", *more), 0, {"certificate.json": text}, not place)
            for place, text in enumerate(certificates)
            for more in ((), ("--json",))
        ),
        Example(OWN, 1, {"audit.toml": AUDIT}),
        Example((*OWN, *OUT, "--json"), 1, {"audit.toml": AUDIT}, quick=False),
        Example((*OWN, *OUT, "--in-process"), 0, {"audit.toml": CLAIMS}, quick=False),
        Example((*OWN, "--in-process"), 1, {name: files[name] for name in files}),
        Example((*OWN, "--until-refuted"), 1, {name: files[name] for name in reversed(files)}),
        Example(WATCH, 0, {"stream.txt": stream()}),
        Example((*WATCH, *OUT, "--json"), 0, {"stream.txt": stream()}),
        Example(CSV, 0, {"table.csv": TABLE}, quick=False),
        Example((*LIBSVM, *OUT), 0, {"sparse.txt": SPARSE}, quick=False),
        Example(("account", "two.toml"), 0, {"two.toml": RELEASES}),
        Example(
            ("account", "two.toml", "--json", "--group", "2"), 0, {"two.toml": RELEASES}, False
        ),
        Example(("account", "laplace", "--set", "noise_scale=5", "--set", "count=25"), 0, {}),
        Example(CALIBRATE, 0, {}),
        Example((*ATTACK, "--set", "trials=100", *OUT), 0, {}, quick=False),
        Example(("show", "hu2020-lemma1"), 0, {}),
        Example(("list", "--json"), 0, {}),
        Example(("schema",), 0, {}),
        Example(("version",), 0, {}),
        Example(("selftest", "--seed", "-1"), 2, {}),
        Example(("reproduce", "nothing", "--runs", "0"), 2, {}),
    ]


def minimal(text):
    """Return a certificate file with the first of its documents alone."""
    found = json.loads(text)
    return json.dumps(found[0] if isinstance(found, list) else found, indent=1)
