"""Everybody on the same work, one after the other, on one thread: ``make peers``.

Environments of the other packages are built once, pinned (`dpaudit.scan.remote.environments`). What
is compared: the upper end of epsilon and the processor's time of accountants, the median certified
lower end and the time of auditors on the same scores, and what dpaudit certifies of DP-Sniper's
mechanisms beside what DP-Sniper published. Writes ``docs/peers.md`` and ``build/peers.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.peers import page, peers, work
from dpaudit.errors import DpauditError
from dpaudit.execution import one_thread
from dpaudit.scan.accountants.asking import MethodAnswer, ask_in_environment
from dpaudit.scan.remote.environments import build_environment
from dpaudit.selftest import answers
from dpaudit.selftest.black_box import audit
from dpaudit.selftest.run import FULL, QUICK, TINY

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0  # of a processor for one answer
LONG, FEW = 5.0, 2  # seconds of an answer after which so few draws have to do
SNIPER_ALPHA = 0.1  # DP-Sniper publishes at 90% confidence


@dataclass(frozen=True)
class Row:
    """What one way of asking gave on one piece of work; times are of a processor."""

    work: str
    peer: str
    method: str
    lower: float | None = None
    upper: float | None = None
    true: float | None = None
    first: float | None = None
    seconds: float | None = None
    words: str = ""


def python_of(peer: peers.Peer) -> str:
    """Return the Python that a package is asked with, its environment built if need be."""
    return (
        str(build_environment(peer.requirements, peer.python))
        if peer.requirements
        else sys.executable
    )


def accounted(peer: peers.Peer, repeats: int) -> list[Row]:
    """Return a package's answers about all releases, each asked several times in one process."""
    asked = [
        (method, question)
        for method in peer.methods
        for question in work.questions().values()
        for _ in range(repeats)
    ]
    said = ask_in_environment(
        peer.file, asked, python=python_of(peer), seconds=SECONDS, memory=None
    )
    names = [(name, method) for method in peer.methods for name in work.questions()]
    return [
        _account(name, peer.name, method, said[k * repeats : (k + 1) * repeats])
        for k, (name, method) in enumerate(names)
    ]


def _account(name: str, peer: str, method: str, said: Sequence[MethodAnswer]) -> Row:
    if said[0].outcome != "answer":
        return Row(name, peer, method, words=said[0].words or said[0].outcome)
    values = said[0].values
    return Row(
        name,
        peer,
        method,
        lower=values[0] if len(values) == 3 else None,
        upper=values[-1],
        first=said[0].seconds,
        seconds=statistics.median(one.seconds for one in said),
    )


def audited(names: Iterable[str], peer: peers.Peer, repeats: int) -> list[Row]:
    """Return the median of the lower ends that a package certifies from the same scores.

    What takes long is asked about fewer draws.
    """
    os.environ["DPAUDIT_PEER"] = peer.file.stem
    python, found = python_of(peer), []
    for name, method in product(names, peer.methods):
        asked = work.scores(name, repeats)
        said = _asked(method, asked[:1], python)
        rest = asked[1 : FEW if said[0].seconds > LONG else repeats]
        said += _asked(method, rest, python) if rest else []
        found.append(_audit(name, peer.name, method, said, asked[0].true))
    return found


def _asked(method: str, asked: Sequence[work.Scores], python: str) -> list[MethodAnswer]:
    pairs = [(method, one) for one in asked]
    file = peers.ASKED / "with_scores.py"
    return ask_in_environment(file, pairs, python=python, seconds=SECONDS, memory=None)


def _audit(name: str, peer: str, method: str, said: Sequence[MethodAnswer], true: float) -> Row:
    failed = [one for one in said if one.outcome != "answer"]
    if failed:
        return Row(name, peer, method, true=true, words=failed[0].words or failed[0].outcome)
    lower = statistics.median(max(one.values[0], 0.0) for one in said)
    seconds = statistics.median(one.seconds for one in said)
    return Row(name, peer, method, lower=lower, true=true, seconds=seconds)


def sniped(quick: bool) -> list[Row]:
    """Return what is certified of the mechanisms for which DP-Sniper has published numbers."""
    budget = (QUICK if quick else FULL).budget
    found = []
    for answer, learners in answers.load_known_answers(published=True):
        if answer.published is None:
            continue
        with one_thread():
            ours = audit(answer, learners, budget, (SNIPER_ALPHA, TINY), seed=0)
        true = answer.event if math.isfinite(answer.event) else None
        found.append(
            Row(answer.name, "dpaudit", ours.attack, ours.lower, true=true, seconds=ours.seconds)
        )
        found.append(Row(answer.name, "DP-Sniper", "published", answer.published, true=true))
        print(answer.name, flush=True)
    return found


def told(ask_one: Any, peer: peers.Peer, repeats: int) -> list[Row]:
    """Return a package's rows, or why there are none."""
    print(peer.name, flush=True)
    try:
        return list(ask_one(peer, repeats))
    except DpauditError as error:
        return [Row("", peer.name, "", words=str(error))]


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return what was measured of the parts that are asked for, as JSON takes it."""
    runs, canaries = (partial(audited, tuple(names)) for names in (work.AUDITS, work.CANARIES))
    parts = {
        "accounts": partial(_of_all, accounted, peers.ACCOUNTANTS, options.repeats),
        "audits": partial(_of_all, runs, peers.AUDITORS, options.draws),
        "canaries": partial(_of_all, canaries, peers.CANARIES, options.draws),
        "sniper": partial(sniped, options.quick),
    }
    return {part: [asdict(row) for row in parts[part]()] for part in options.only or parts}


def _of_all(ask_one: Any, asked: Sequence[peers.Peer], repeats: int) -> list[Row]:
    return [row for peer in asked for row in told(ask_one, peer, repeats)]


def about(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the page says of the run."""
    everybody = (*peers.ACCOUNTANTS, *peers.AUDITORS, *peers.CANARIES)
    return {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "repeats": options.repeats,
        "draws": options.draws,
        "quick": options.quick,
        "requirements": {one.name: one.requirements for one in everybody if one.requirements},
    }


def main() -> None:
    """Measure, and write the page and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="of each question to an accountant")
    parser.add_argument("--draws", type=int, default=20, help="of the scores of each audit")
    parser.add_argument("--quick", action="store_true", help="DP-Sniper's mechanisms on less data")
    parser.add_argument(
        "--only",
        action="append",
        choices=("accounts", "audits", "canaries", "sniper"),
        help="measure this part anew, and take the others from the JSON that is there",
    )
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "peers.md")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "peers.json")
    options = parser.parse_args()
    before = json.loads(options.json.read_text(encoding="utf-8")) if options.only else {}
    found = before | about(options) | measured(options)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    options.page.write_text(page.written(found), encoding="utf-8")
    print(f"{options.page}\n{options.json}")


if __name__ == "__main__":
    main()
