"""Whether `--time T` ends within T + 5 seconds: of calls of 10 ms, 250 ms and 1 s, idle and loaded.

A private mechanism that nothing refutes is audited, so that an audit takes all of its time. Loaded
means two processes beside it that only count. A time that cannot do has to be told at once: then
the seconds are those of the refusal. Another program that works meanwhile counts as load too.

    python benchmarks/timed.py [--time 60] [--workers 2] [--out timed.json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACES, ALLOWED = (0.01, 0.25, 1.0), 5.0
SLOW = """
import time

def noisy(data, rng):
    time.sleep({pace})
    return data.sum() + rng.laplace()
"""
BUSY = "while True: pass"
WORDS = "audit slow:noisy --dataset a.csv --neighbour b.csv --epsilon 1 --delta 0 --no-store"


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep so many processes busy inside the block."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


def timed(pace: float, seconds: float, workers: int) -> tuple[float, str]:
    """Return the seconds that an audit took from its start to its end, and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "slow.py").write_text(SLOW.format(pace=pace), encoding="utf-8")
        for name, value in (("a", 0), ("b", 1)):
            (here / f"{name}.csv").write_text(f"x\n{value}\n", encoding="utf-8")
        options = f"--time {seconds:g} --workers {workers} --quiet --out report"
        began = time.monotonic()
        ended = subprocess.run(
            [sys.executable, "-m", "dpaudit", *WORDS.split(), *options.split()],
            cwd=here,
            capture_output=True,
            text=True,
            check=False,
        )
        took = time.monotonic() - began
        report = here / "report" / "report.json"
        if report.exists():
            (result,) = json.loads(report.read_text(encoding="utf-8"))["results"]
            return took, str(result["verdict"])
        told = ended.stderr.strip().splitlines() or [f"status {ended.returncode}"]
        return took, told[-1]


def main() -> None:
    """Print what each took beside what was allowed; nothing passes or fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    found = []
    print(f"{'a call':>8} {'beside':>12} {'took':>8} {'allowed':>8}  ended")
    for pace in PACES:
        for loops in (0, 2):
            with busy_loops(loops):
                took, ended = timed(pace, asked.time, asked.workers)
            beside = f"{loops} loops" if loops else "nothing"
            allowed = asked.time + ALLOWED
            late = "" if took <= allowed else "  LATE"
            print(f"{pace:6g} s {beside:>12} {took:6.1f} s {allowed:6.1f} s  {ended}{late}")
            found.append({"pace": pace, "loops": loops, "seconds": took, "ended": ended})
    if asked.out is not None:
        told = {"time": asked.time, "processors": os.cpu_count(), "audits": found}
        asked.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
