"""Forged certificates of replays: every kind of evidence, tried on every kind of mechanism.

Whatever a file names (any draw, made in any way, any rounding, threshold, side and place, any pair
of numbers, any count) no file verifies against a claim that is true of the mechanism. The runs are
real ones; each is made once for all files that ask for it.
"""

import functools
import itertools

import cloudpickle
import numpy as np
import pytest

from dpaudit.errors import DpauditError
from dpaudit.freezing import patching
from dpaudit.mechanisms.foreign.code_identity import code_of
from dpaudit.redaction import compute_data_fingerprint
from dpaudit.verification import Reader, document, judge, replay_certificates, rerun_replay
from tests.verification.replayed_mechanisms import (
    TRUE,
    clipped,
    floored,
    inverted,
    laplace,
    logistic,
    of_exponentials,
    of_one_seed,
)

SALT, PAIR = bytes(range(16)), ([0.0, 0.0], [1.0, 0.0])
POSTS = ("", "round", "floor", "ceil", "trunc")
STEPS = (-6.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 5.5)
SIDES = tuple(itertools.product((True, False), ("dataset", "neighbour")))
KINDS = ("all of", "sum", "equal")


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Run in this process, and each set of runs once."""
    known = {}

    def seen(blob, reader):
        task = cloudpickle.loads(blob)
        asked = repr([(name, one) for name, one in task.items() if name != "code"])
        if asked not in known:
            known[asked] = rerun_replay.run_replay_task(task)
        return known[asked]

    homes = judge._homes()
    monkeypatch.setattr(judge, "_homes", lambda: homes)
    monkeypatch.setattr(replay_certificates, "run_task_elsewhere", seen)
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: [])
    monkeypatch.setattr(replay_certificates, "beyond_data", lambda *_: [])


@functools.cache
def hashes():
    return {
        name: compute_data_fingerprint(one, SALT)
        for name, one in zip(("dataset", "neighbour"), PAIR, strict=True)
    }


def file_of(mechanism, evidence, claimed):
    epsilon, delta = claimed
    return {
        "format": "dpaudit-certificate", "version": 1, "claim": "f", "kind": "replay",
        "source": "the caller", "relation": "replace-record", "assumptions": [],
        "parameters": {"finding": "sensitivity", "tier": "proof"},
        "quantities": {"bound": epsilon},
        "instance": {
            "claimed": {"epsilon": epsilon, "delta": delta}, "evidence": evidence,
            "pair": {"salt": SALT.hex(), "declared": None, **hashes()},
            "reading": {"form": None, "read": None, "observe": []},
            "mechanism": {"reference": "m:f", "sha256": code_of(mechanism).sha256},
        },
    }  # fmt: skip


def verified(mechanism, evidence, claimed):
    """Return the verdict on a file if it verifies, else None."""
    reader = Reader(mechanism=mechanism, dataset=PAIR[0], neighbour=PAIR[1], seed=11)
    try:
        found = judge.verify(
            document._parse_certificate("c.json", file_of(mechanism, evidence, claimed)), reader
        )
    except DpauditError:
        return None
    return found if found.verified else None


def draws_of(mechanism):
    """Return every draw that a file may name, made in every way that its law lets, and numbers."""
    tails = ("laplace", "normal", "uniform", "exponential", "logistic", "gumbel")
    with patching.patch_primitives(mechanism):
        run, output = rerun_replay._run_recorded(mechanism, PAIR[0], 5)
    entries = [
        (call.key, entry, call.kind)
        for call in run.calls
        if call.draw is not None and call.kind in tails
        for entry in range(min(2, np.size(call.draw)))
    ]
    inverses = {"uniform": ("", "inverted", "-log(u)", "-log(1-u)")}
    plain = [[key, n, made] for key, n, kind in entries for made in inverses.get(kind, ("",))]
    less = [
        [key, n, f"less {other} of {second}"]
        for (key, n, kind), (second, other, of) in itertools.permutations(entries, 2)
        if kind == of and kind in ("uniform", "exponential")
    ]
    return plain + less, max(1, len(output.numbers))


def lawful(mechanism, posts):
    """Return places, draws and roundings that fresh runs bear out."""
    draws, numbers = draws_of(mechanism)
    tried = itertools.product(range(numbers), draws, posts)
    with patching.patch_primitives(mechanism):
        return [one for one in tried if follows(mechanism, *one)]


def follows(mechanism, place, draw, post):
    task = {"data": PAIR[:1], "conditions": [[place, [draw], [post]]]}
    return rerun_replay._fit_condition_laws(mechanism, task, 12)[0][0]["problem"] is None


def events(laws):
    """Yield events of one number and of two, whichever they are, with every threshold and side."""
    spaced = [(place, [k, n, f" {made}"], post) for place, (k, n, made), post in laws if made]
    pairs = [*itertools.product(laws, repeat=2), *itertools.product(spaced, repeat=2)]
    chosen = [(one,) for one in laws] + pairs
    for laws_of, kind, steps, side in itertools.product(chosen, KINDS, STEPS, SIDES):
        yield event(laws_of, kind, steps, *side)


def event(laws, kind, steps, above, favours):
    conditions = [
        {
            "place": place, "above": above, "steps": steps,
            "draws": [draw] * 2, "posts": [post] * 2,
        }
        for place, draw, post in laws
    ]  # fmt: skip
    return {"event": {"kind": kind, "favours": favours, "conditions": conditions}}


def other_kinds(mechanism):
    draws, numbers = draws_of(mechanism)
    for what, place in itertools.product(("structure", "text", "number"), range(numbers)):
        for favours in ("dataset", "neighbour"):
            yield {"counted": {"what": what, "favours": favours, "place": place}}
    for key in dict.fromkeys(key for key, *_ in draws):
        yield {"declared": {"draw": key}}


def no_less(claimed):
    """Return a claim that is true where another one is, and is not met to the last digit."""
    return claimed[0] * (1 + 1e-6) + 1e-9, claimed[1] * (1 + 1e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mechanism", TRUE, ids=lambda one: one.__name__)
def test_few_forgeries_do_not_verify_against_a_true_claim(mechanism):
    rng = np.random.default_rng(sum(map(ord, mechanism.__name__)))
    laws = lawful(mechanism, ("", POSTS[1 + rng.integers(4)]))
    every = [*events(laws)]
    some = [every[n] for n in rng.integers(len(every), size=12)] if every else []
    for evidence in [*some, *other_kinds(mechanism)]:
        assert verified(mechanism, evidence, no_less(TRUE[mechanism])) is None, evidence


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", TRUE, ids=lambda one: one.__name__)
def test_no_forgery_verifies_against_a_true_claim(mechanism):
    laws = lawful(mechanism, POSTS)
    for evidence in [*events(laws), *other_kinds(mechanism)]:
        assert verified(mechanism, evidence, no_less(TRUE[mechanism])) is None, evidence


TIGHT = [laplace, clipped, floored, of_exponentials, inverted, logistic, of_one_seed]


@pytest.mark.parametrize("mechanism", TIGHT, ids=lambda one: one.__name__)
def test_a_claim_of_less_is_refuted_by_some_of_them(mechanism):
    """The negative control: what is looked for is there, where a little less is claimed."""
    epsilon, delta = TRUE[mechanism]
    laws = lawful(mechanism, ("floor",) if mechanism is floored else ("",))
    found = (verified(mechanism, one, (0.9 * epsilon, 0.9 * delta)) for one in events(laws))
    assert next(filter(None, found)).ratio <= 1 / 0.9 + 1e-6


# What a reader of names could be fooled with


LESS = "less {other} of exponential(1;)#0"
MADE = [LESS, " " + LESS, LESS + " ", "less  {other} of exponential(1;)#0", LESS.replace(" ", "\t")]
MADE += ["less {other} of  exponential(1;)#0", "less 0{other} of exponential(1;)#0"]
MADE += ["less {other} of exponential(1;)#0\n", "Less {other} of exponential(1;)#0"]


@pytest.mark.parametrize("made", MADE)
def test_one_difference_is_not_counted_twice_however_it_is_written(made):
    """Two draws less each other are one number: multiplied, they would prove an epsilon of 2."""
    draws = [["exponential(1;)#0", n, made.format(other=1 - n)] for n in (0, 1)]
    both = event([(0, draw, "") for draw in draws], "all of", -1.0, False, "dataset")
    assert verified(of_exponentials, both, (1.5, 0.0)) is None
    plain = [(0, ["exponential(1;)#0", 0, LESS.format(other=1)], "")]
    assert verified(of_exponentials, event(plain, "all of", -1.0, False, "dataset"), (0.9, 0.0))


@pytest.mark.parametrize("said", [{"ignore": ("0",)}, {"observe": ("time",)}, {"fresh": "process"}])
def test_a_part_that_the_reader_leaves_out_is_no_evidence(said):
    """A replay looks at every part, so that a file and its reader may agree on what is ignored."""
    evidence = event([(0, ["laplace(0;)#0", 0, ""], "")], "all of", -1.0, False, "dataset")
    content = file_of(laplace, evidence, (0.9, 0.0))
    asked = {"mechanism": laplace, "dataset": PAIR[0], "neighbour": PAIR[1], "seed": 11}
    plain = judge.verify(document._parse_certificate("c.json", content), Reader(**asked))
    assert plain.verified
    content["instance"]["reading"] |= {
        name: list(one) if isinstance(one, tuple) else one for name, one in said.items()
    }
    found = judge.verify(document._parse_certificate("c.json", content), Reader(**asked, **said))
    (name,) = said
    assert [one for one in found.failures if one.startswith(f"{name}: a replay looks at all")]


ODD = [("laplace(0;)#0", 0.5, ""), ("laplace(0;)#0", True, ""), ("laplace(0;)#0", -1, "")]
ODD += [("laplace(0;)#0", "0", ""), (["laplace(0;)#0"], 0, ""), ("laplace(0;)#0", 0, None)]


@pytest.mark.parametrize("odd", ODD)
def test_a_draw_that_no_certificate_would_name_is_refused(odd):
    evidence = event([(0, list(odd), "")], "all of", -1.0, False, "dataset")
    with pytest.raises(DpauditError, match="expected an event"):
        judge.verify(
            document._parse_certificate("c.json", file_of(laplace, evidence, (0.5, 0.0))),
            Reader(mechanism=laplace, dataset=PAIR[0], neighbour=PAIR[1], seed=11),
        )
