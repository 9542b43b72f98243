"""Certificates of every kind, moved in every field, alone and in pairs: all that stands is true.

Draws are faked: what fresh runs would show is computed from laws that are known. Each moved file
fails, or is refused, or what it proves is at most what 50 digits say of the moved file and of the
mechanism or the scores, which nobody moved.
"""

import copy
import functools
import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from mpmath import mp

from dpaudit.auditing.samples.canary_table import CanaryTable, usual_design
from dpaudit.auditing.samples.given_samples import audit_outputs
from dpaudit.errors import DpauditError
from dpaudit.estimation.canaries import default_plans, right_guesses
from dpaudit.guarantees.kinds import PureDP
from dpaudit.redaction import compute_data_fingerprint
from dpaudit.report.schema import Claimed
from dpaudit.verification import (
    Reader,
    canaries,
    document,
    judge,
    mechanism,
    redrawn_counts,
    replay_certificates,
)
from tests.verification.tables import of_a_table, true_of_table, with_its_ratio

REPORTS = Path(__file__).parents[2] / "reports"
SALT, PAIR = bytes(range(16)), ([0.0, 0.0], [1.0, 0.0])
WORDS = (
    *("all of", "sum", "equal", "event", "counted", "declared", "dataset", "neighbour", "number"),
    *("structure", "text", "independent", "fixed-size", "pairs", "runs", "round", "floor", ""),
    *("replace-record", "add-remove-record", "replace-column", "event", "exact-loss", "a b c"),
)
FRAME = ("format", "version", "schema")


# What decides most, which is moved most often, and what its words may be
HOT = {"steps", "place", "above", "favours", "claimed", "guesses", "shares", "design", "alpha"}
HOT |= {"epsilon", "delta", "evidence", "correct", "confidence", "declared", "relation"}
OF = {
    "kind": ("all of", "sum", "equal"),
    "design": ("independent", "fixed-size", "pairs", "runs"),
    "favours": ("dataset", "neighbour"),
    "what": ("structure", "text", "number"),
}


# How a file is moved


def places(value, path=()):
    """Yield where every value of a file stands: numbers, words and flags, lists and objects."""
    if path and path[0] not in FRAME:
        yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in items:
            yield from places(one, (*path, name))


def moves(value, name):
    """Return what is easier, or else, for a value of its sort."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            other = [value + 1, value - 1, 0, 1, 2, 5, -5, 2 * value, -value, 10**6]
            part = [value / 2, 0.9 * value, 1.1 * value, 0.3, 1e-9, 1e-300, 0.999, value / 10]
            return [*other, *(int(one) if isinstance(value, int) else one for one in part)]
        case str():
            return [one for one in OF.get(name, WORDS) if one != value]
        case list():
            return [value[::-1], value[:1], value + value, [], value[1:], sorted(value, key=str)]
        case dict():
            renamed = [{new: one} for one in value.values() for new in WORDS[:9]]
            return [{}, *({n: v for n, v in value.items() if n != out} for out in value), *renamed]
    return ["x", 0, 0.5, [], ["counts"]]


def moved(content, rng, count):
    """Return a copy of a file with so many of its fields moved."""
    found = copy.deepcopy(content)
    for _ in range(count):
        paths = list(places(found))
        hot = [path for path in paths if HOT & set(path)]
        paths = hot if hot and rng.random() < 0.75 else paths
        *outer, last = paths[int(rng.integers(len(paths)))]
        held = functools.reduce(lambda one, key: one[key], outer, found)
        if options := moves(held[last], last):
            held[last] = options[int(rng.integers(len(options)))]
    return found


def verdict(content, reader):
    """Return the verdict on a file, None where it is refused."""
    try:
        return judge.verify(document._parse_certificate("c.json", content), reader)
    except DpauditError:
        return None


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    homes = judge._homes()
    monkeypatch.setattr(judge, "_homes", lambda: homes)
    monkeypatch.setattr(judge, "SECONDS", 0.5)


# Replays: mechanisms whose laws are known


@dataclass(frozen=True)
class Known:
    """Numbers of an output: draw, law, centres on both sides, ends, rounding; and epsilon."""

    kind: str
    ends: tuple[float, float] | None
    post: str
    count: int

    @property
    def key(self):
        return f"{self.kind}(0;)#"

    def law(self, side, place, draw, post):
        if place >= self.count or list(draw) != [f"{self.key}{place}", 0, ""] or post != self.post:
            return {"problem": "event: a number is no line of the draw that the file names"}
        centre = PAIR[side][place]
        z = np.array([-1.5, -0.7, 0.1, 0.8, 1.9])
        o = getattr(np, self.post)(centre + z) if self.post else centre + z
        low, high = self.ends or (None, None)
        o = o if self.ends is None else np.clip(o, low, high)
        return {
            "problem": None, "post": post, "declared": False, "low": low, "high": high,
            "centre": centre, "factor": 1.0, "kind": self.kind, "error": 1e-16,
            "numbers": o.tolist(), "draws": z.tolist(),
        }  # fmt: skip

    def hits(self, task):
        """Return the counts that are expected, of an atom if there is one."""
        n = task["count"]
        if "counted" not in task or task["counted"][0] != "number":
            return (0, 0, n) if "contrast" in task else (n, n, n)
        if self.ends is None or task["counted"][1]:
            return 0, 0, n
        sides = [float(mp.ncdf(self.ends[0] - centre)) for centre in (0.0, 1.0)]
        own, other = sides[::-1] if task["favours"] else sides
        return int(n * own), math.ceil(n * other), n

    def seen(self, task):
        found = {"sha256": "ab", "keeps_state": False, "copies": False}
        if "conditions" in task:
            found["laws"] = [
                [self.law(side, place, draws[side], posts[side]) for place, draws, posts in
                 task["conditions"]] for side in (0, 1)
            ]  # fmt: skip
        if "declared" in task:
            found["declaration"] = [1.0, 1.0]
        return json.dumps(found | ({"hits": self.hits(task)} if "count" in task else {}))

    def epsilon(self, delta):
        """Return the greatest epsilon that is true at a delta, with 50 digits."""
        with mp.workdps(50):
            if self.kind == "laplace":
                return max(0.0, float(1 + 2 * mp.log(1 - mp.mpf(delta))))
            whole = _gaussian_epsilon(delta)
            atom = mp.log(mp.ncdf(-0.5) / mp.ncdf(-1.5))
            return float(min(whole, atom) if self.ends else whole)


@functools.cache
def _gaussian_epsilon(delta):
    if delta <= 0:
        return mp.inf

    def spent(epsilon):
        return mp.ncdf(0.5 - epsilon) - mp.e**epsilon * mp.ncdf(-0.5 - epsilon) - delta

    if spent(mp.mpf(0)) <= 0:
        return mp.mpf(0)
    low, high = mp.mpf(0), mp.mpf(100)
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > 0 else (low, middle)
    return high


KNOWN = {
    "laplace": (Known("laplace", None, "", 1), "all of", -1.0, 0.5),
    "clipped": (Known("normal", (-0.5, 1.5), "", 1), "all of", -0.5, 1.0),
    "plain": (Known("normal", None, "", 2), "sum", 2.0, 0.8),
    "rounded": (Known("normal", None, "round", 1), "all of", -2.0, 0.8),
}


def replay(name):
    known, kind, steps, epsilon = KNOWN[name]
    conditions = [
        {
            "place": n, "above": False, "steps": steps, "posts": [known.post] * 2,
            "draws": [[f"{known.key}{n}", 0, ""]] * 2,
        }
        for n in range(known.count)
    ]  # fmt: skip
    event = {"kind": kind, "favours": "dataset", "conditions": conditions}
    return base(
        "replay",
        {"finding": "sensitivity", "tier": "proof"},
        {"claimed": {"epsilon": epsilon, "delta": 0.0}, "evidence": {"event": event}},
    )


def base(kind, parameters, instance, **quantities):
    sides = {
        n: compute_data_fingerprint(one, SALT)
        for n, one in zip(("dataset", "neighbour"), PAIR, strict=True)
    }
    epsilon = instance["claimed"]["epsilon"]
    return {
        "format": "dpaudit-certificate", "version": 1, "claim": "f", "kind": kind,
        "source": "the caller", "relation": "replace-record", "assumptions": [],
        "parameters": parameters, "quantities": {"bound": epsilon, **quantities},
        "instance": instance | {
            "reading": {"form": None, "read": None, "observe": []},
            "mechanism": {"reference": "m:f", "sha256": "ab"},
            "pair": {"salt": SALT.hex(), "declared": None, **sides},
        },
    }  # fmt: skip


def of_mechanism():
    return Reader(mechanism="made:up", dataset=PAIR[0], neighbour=PAIR[1], seed=7)


def true_of_replay(content, found, known):
    """Say that what is proved is true of the mechanism at the delta that the moved file claims."""
    evidence = content["instance"]["evidence"]
    if "declared" in evidence:
        assert found.reservations
        return
    claimed = content["instance"]["claimed"]
    exact = known.epsilon(claimed["delta"])
    assert exact > claimed["epsilon"], content
    if claimed["epsilon"] > 0 and found.ratio < 1e6:
        assert found.ratio * claimed["epsilon"] <= exact * (1 + 1e-9), content


# Canaries: scores that nobody moves


def canary():
    rng = np.random.default_rng(4)
    included = rng.random(60) < 0.45
    table = CanaryTable(scores=rng.normal(size=60) + 1.5 * included, included=included, group=None)
    plans = [(one.guesses, one.share) for one in default_plans(60)]
    p = p_value(table, "independent", plans, 0.1, 1e-5)
    return table, {
        "format": "dpaudit-certificate", "version": 1, "claim": "canaries", "kind": "canaries",
        "source": "whoever gave the scores", "relation": "one canary is added or removed",
        "parameters": {
            "design": "independent", "canaries": 60, "included": int(included.sum()), "coins": 60,
            "epsilon": 0.1, "delta": 1e-5, "alpha": 0.05,
        },
        "quantities": {"p_value": float(p), "ratio": float(0.05 / p)},
        "assumptions": [{"name": "shares", "value": 1.0, "limit": 1.0}],
        "instance": {
            "guesses": [r for r, _ in plans], "shares": [w for _, w in plans],
            "correct": [right(table, r) for r, _ in plans], "sha256": table.digest,
        },
    }  # fmt: skip


def right(table, guesses):
    coins = np.where(table.included, 1, -1).astype(np.int8)
    return int(right_guesses(table.scores[None], coins[None], [guesses])[0, 0])


def p_value(table, design, plans, epsilon, delta):
    """Return the p-value of the scores with 50 digits, by the sum of the theorem."""
    with mp.workdps(50):
        ways = mp.binomial(len(table.scores), int(table.included.sum()))
        given = ways / mp.mpf(2) ** len(table.scores) if design == "fixed-size" else mp.mpf(1)
        found = [one_p_value(right(table, r), r, 60, epsilon, delta) / share for r, share in plans]
        return min(found) / given


@functools.cache
def one_p_value(correct, guesses, coins, epsilon, delta):
    if correct == 0:
        return mp.mpf(1)
    odds = mp.exp(mp.mpf(epsilon))
    law = [mp.binomial(guesses, k) * odds**k / (1 + odds) ** guesses for k in range(guesses + 1)]
    tail, below = mp.fsum(law[correct:]), mp.fsum(law[:correct])
    return tail + coins * mp.mpf(delta) * tail * below / (correct * law[correct])


def true_of_canaries(content, found, table, reader):
    stated, plans = (
        content["parameters"],
        list(zip(content["instance"]["guesses"], content["instance"]["shares"], strict=True)),
    )
    alpha, claim = 1 - reader.of_scores, (stated["epsilon"], stated["delta"])
    p = p_value(table, stated["design"], plans, *claim)
    assert p < alpha
    assert found.ratio == pytest.approx(float(alpha / p), rel=1e-6)
    if found.refutes_as_published:  # then plan and design are the usual ones, or ask for more
        usual = [(one.guesses, one.share) for one in default_plans(60)]
        assert plans == usual
        assert stated["design"] in (usual_design(table), "fixed-size")
        assert p_value(table, usual_design(table), usual, *claim) < alpha


def repaired(content, table):
    """Return a moved file with the p-value that a forger would state of it."""
    try:
        stated, instance = content["parameters"], content["instance"]
        guesses, shares = instance["guesses"], instance["shares"]
        shares = shares if len(guesses) == len(shares) else [1 / len(guesses)] * len(guesses)
        instance |= {"correct": [right(table, one) for one in guesses], "shares": shares}
        plans = list(zip(guesses, shares, strict=True))
        p = p_value(table, stated["design"], plans, stated["epsilon"], stated["delta"])
        content["quantities"] = {"p_value": float(p), "ratio": float(stated["alpha"] / p)}
    except (ArithmeticError, KeyError, TypeError, ValueError, AttributeError, DpauditError):
        pass
    return content


# Counts: an audit of a known epsilon, on the reader's draws


LAPLACE = 2.0  # the exact epsilon of what is audited, at delta = 0


def counted(kind):
    settings = {"epsilon": 1.0, "delta": 0.0, "seed": 0, "confidence": 0.95, "trials": 1000}
    if kind == "mechanism":
        instance = {"settings": settings, "claimed": {"epsilon": 1.0, "delta": 0.0}}
        return base(kind, {"confidence": 0.95}, instance, value=1.8, ratio=1.8)
    (found, *_) = json.loads((REPORTS / "zhang2018-appendixE" / "certificate.json").read_text())
    return found


def fake_audit(template, bound):
    """Return an audit that certifies a little less than is true, at the reader's confidence."""

    def audited(content, *given):
        *_, settings, reader = given
        assert (settings.seed, settings.confidence) == (reader.seed, float(reader.confidence))
        claim = bound(content)
        delta = getattr(claim, "at_delta", 0.0)
        limit, lower = claim.epsilon(delta), max(0.0, 0.99 * (LAPLACE + 2 * math.log(1 - delta)))
        measured = template.measured.model_copy(update={"lower": lower})
        return template.model_copy(
            update={
                "measured": measured, "proved": None,
                "claimed": Claimed(epsilon=limit, delta=delta),
                "verdict": "refuted" if lower > limit else "not refuted",
            }
        )  # fmt: skip

    return audited


def true_of_counts(content, found):
    bound = content["quantities"]["bound"]
    assert bound < LAPLACE
    assert bound <= 0 or found.ratio * bound <= LAPLACE * (1 + 1e-9)


# The moves


@dataclass(frozen=True)
class Family:
    """Files of one kind: the file, its reader, what is true, and what is done to a moved one."""

    content: dict
    reader: Reader
    check: object
    repair: object = staticmethod(lambda content: content)


@pytest.fixture
def families(monkeypatch):
    found = {}
    table, content = canary()
    monkeypatch.setattr(canaries, "read_table", lambda path: table)
    reader = Reader(scores="s.csv")
    check = functools.partial(true_of_canaries, table=table, reader=reader)
    found["canaries"] = Family(content, reader, check, functools.partial(repaired, table=table))
    chosen = {}
    seen = lambda blob, reader: chosen["known"].seen(cloudpickle.loads(blob))  # noqa: E731
    monkeypatch.setattr(replay_certificates, "run_task_elsewhere", seen)
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: [])
    for name, (known, *_) in KNOWN.items():

        def check_replay(content, verdict, known=known):
            true_of_replay(content, verdict, known)

        found[f"replay of {name}"] = Family(replay(name), of_mechanism(), check_replay, chosen)
    rng = np.random.default_rng(0)
    template = audit_outputs(rng.normal(size=60), rng.normal(size=60), epsilon=1.0)
    monkeypatch.setattr(
        mechanism, "_place_reader_mechanism", lambda content, _: (None, _other_code(content))
    )
    of_claim = fake_audit(template, lambda content: mechanism._claimed(content))
    monkeypatch.setattr(mechanism, "_run_reader_audit", of_claim)
    found["mechanism"] = Family(counted("mechanism"), of_mechanism(), true_of_counts)
    found["attack-table"] = Family(of_a_table(), Reader(), true_of_table, with_its_ratio)
    return found


def _other_code(content):
    stated = mechanism._part(content, "mechanism").get("sha256")
    return [] if stated == "ab" else ["mechanism: other code"]


def tried(families, each):
    """Return how many moved files of each family were looked at, and how many verified."""
    counts = {}
    for number, (name, family) in enumerate(families.items()):
        if name.startswith("replay of "):
            family.repair["known"] = KNOWN[name.removeprefix("replay of ")][0]
        assert (first := verdict(family.content, family.reader)) is not None, name
        assert first.verified, (name, first.failures)
        rng, stood = np.random.default_rng(number), 0
        for n in range(each):
            content = moved(family.content, rng, 1 + n % 2)
            if n % 4 and callable(family.repair):
                content = family.repair(content)
            if n % 4 and isinstance(content.get("instance"), dict):
                _agree(content)
            found = verdict(content, family.reader)
            if found is not None and found.verified:
                stood += 1
                family.check(content, found)
        counts[name] = stood
    return counts


def _agree(content):
    """State the moved claim as the bound, as a forger would."""
    claimed = content["instance"].get("claimed")
    if (
        isinstance(claimed, dict)
        and "epsilon" in claimed
        and isinstance(content["quantities"], dict)
    ):
        content["quantities"]["bound"] = claimed["epsilon"]


def test_no_moved_file_says_more_than_is_true(families):
    stood = tried(families, 330)
    assert len(stood) == 7
    assert all(0 < count < 300 for count in stood.values()), stood


@pytest.mark.parametrize("name", KNOWN)
def test_no_kind_of_event_proves_more_than_is_true_wherever_it_looks(families, name):
    family, known = families[f"replay of {name}"], KNOWN[name][0]
    family.repair["known"] = known
    looked = itertools.product(OF["kind"], (-2.0, 0.5, 2.0, 5.0), (True, False), OF["favours"])
    stood = set()
    for (kind, steps, above, favours), epsilon in itertools.product(looked, (0.2, 0.99, 1.54)):
        content = copy.deepcopy(family.content)
        event = content["instance"]["evidence"]["event"]
        event |= {"kind": kind, "favours": favours}
        for one in event["conditions"]:
            one |= {"steps": steps, "above": above}
        content["instance"]["claimed"]["epsilon"] = content["quantities"]["bound"] = epsilon
        found = verdict(content, family.reader)
        if found is not None and found.verified:
            stood.add(kind)
            family.check(content, found)
    assert stood == ({"all of", "sum"} if name == "plain" else {"all of"})


@pytest.mark.slow
def test_no_moved_file_says_more_than_is_true_however_many_are_tried(families):
    stood = tried(families, 16_700)
    assert all(0 < count < 15_000 for count in stood.values()), stood


def test_a_file_about_counts_is_judged_with_the_seed_and_confidence_of_the_reader(monkeypatch):
    rng = np.random.default_rng(0)
    template = audit_outputs(rng.normal(size=60), rng.normal(size=60), epsilon=1.0)
    content, reader = counted("statistical"), Reader(seed=7, confidence=0.99)
    monkeypatch.setattr(
        redrawn_counts, "_run_stated_audit", fake_audit(template, lambda _: PureDP(1.0))
    )
    content["quantities"]["bound"] = 1.0
    assert verdict(content, reader).verified
    for n, one in enumerate(itertools.islice(_endless(content, rng), 150)):
        found = verdict(one, reader)  # the audit itself says whose seed and confidence it has
        if found is not None and found.verified:
            assert found.ratio == pytest.approx(0.99 * LAPLACE), n


def _endless(content, rng):
    while True:
        yield moved(content, rng, 1)
