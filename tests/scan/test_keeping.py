"""Noise that is kept outside all processes accuses nobody; and what is read excuses nobody."""

import secrets
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.scan.certification.keeping as keeping
import dpaudit.scan.remote.child as child
from dpaudit.execution import Limits
from dpaudit.execution.failures import DrawTimeout
from dpaudit.guarantees.kinds import PureDP
from dpaudit.neighbours import ADD_REMOVE_RECORD, Pair
from dpaudit.scan.certification.certify import SampleSizes, certify_claim
from dpaudit.scan.remote.child import _import_names
from dpaudit.scan.remote.environments import VersionEnvironment
from dpaudit.scan.remote.foreign import Foreign
from dpaudit.scan.scan import ScanBudget, file_of, scan_package
from dpaudit.verdicts import status_of

PAIR = Pair([1.0, 0.0], [0.0], ADD_REMOVE_RECORD)
PRIVATE = {
    "keyed_by_a_file": "file",
    "keyed_by_a_variable": "environment variable",
    "keyed_by_the_hour": "clock",
    "keyed_by_a_salt": "clock",  # of a new interpreter
    "keyed_by_a_connection": "connection",
    "keyed_at_import": "file",
}
BROKEN = ("scaled_by_a_file", "scaled_by_a_variable", "scaled_by_an_installed_file", "exact")


@pytest.fixture
def reached(toy, monkeypatch):
    """Return the toy package with the files and variables that its mechanisms read."""
    site = Path(toy.__file__).parent
    (site / "key.txt").write_text(secrets.token_hex(16))
    (site / "scale.txt").write_text("0.1")
    (site / "toy_keyed.py").write_text(
        "from pathlib import Path\nKEY = (Path(__file__).parent / 'key.txt').read_text()\n"
    )
    monkeypatch.setenv("TOY_KEY", secrets.token_hex(16))
    monkeypatch.setenv("TOY_SCALE", "0.1")
    return toy


def found(toy, code):
    with VersionEnvironment(None, "1.0").crew(Limits()) as crew:
        mechanism = Foreign(crew, file_of(toy.PACKAGE), code, {"epsilon": 1.0}, distribution="toy")
        return certify_claim(mechanism, PAIR, PureDP(1.0), SampleSizes(64, 200), 1e-6, seed=3)


@pytest.mark.parametrize("code", PRIVATE)
def test_noise_that_is_kept_outside_accuses_nobody(reached, code):
    result = found(reached, code)
    assert (result.refuted, result.kept) == (False, True)
    assert f"kept outside the call ({PRIVATE[code]} " in result.why


@pytest.mark.parametrize("code", BROKEN)
def test_what_a_broken_one_reads_excuses_it_nowhere(reached, code):
    result = found(reached, code)
    assert (result.refuted, result.kept, result.why) == (True, False, "")
    assert result.lower > 1.0


def test_a_scan_withholds_the_verdict_and_names_the_cause(reached):
    card = reached.package(reached.subject("keyed_by_a_file"), reached.subject("scaled_by_a_file"))
    result = scan_package(
        card, budget=ScanBudget(confidence=1 - 1e-6, trials=400, seconds=60.0), seed=0
    )
    assert {one.subject for one in result.findings} == {"scaled_by_a_file"}
    assert list(result.withheld) == ["keyed_by_a_file"]
    assert "key.txt" in result.withheld["keyed_by_a_file"]
    assert status_of(result.verdicts) == 2


@pytest.mark.parametrize(
    ("distribution", "package"),
    [("scikit-learn", "sklearn"), ("numpy", "numpy"), ("No-One", "no_one")],
)
def test_a_distribution_is_known_by_the_packages_that_it_installs(distribution, package):
    assert package in _import_names(distribution)


# What outputs of other processes show


def of_parts(*columns, hits=None):
    parts = np.stack(columns, axis=1)
    return keeping.CountedOutputs(parts, len(parts) if hits is None else hits)


ONE, NOISE = np.ones(40), np.random.default_rng(5).normal(size=40)


@pytest.mark.parametrize(
    ("other", "another"),
    [
        (of_parts(ONE, NOISE[::-1]), False),
        (of_parts(2 * ONE, NOISE[::-1]), True),
        (of_parts(ONE, ONE), False),
        (of_parts(NOISE, NOISE), False),
        (of_parts(ONE, NOISE, hits=0), True),
        (of_parts(ONE, NOISE, hits=38), False),
    ],
)
def test_a_process_is_another_by_what_is_fixed_or_by_how_often_the_event_is(other, another):
    one = of_parts(ONE, NOISE)
    assert keeping._is_another(one, other) is another
    assert keeping._is_another(other, one) is another


@pytest.mark.parametrize(
    ("dataset", "neighbour", "steady"),
    [
        (ONE, 2 * ONE, [[0], [0]]),
        (ONE, ONE, [[], []]),
        (ONE, NOISE, [[0], []]),
        (NOISE, ONE, [[], [0]]),
        (NOISE, NOISE + 1, [[], []]),
    ],
)
def test_what_never_varies_is_named_for_each_side_unless_both_have_it(dataset, neighbour, steady):
    assert keeping._steady([dataset[:, None], neighbour[:, None]]) == steady


def test_outputs_of_one_call_each_are_drawn_of_both_datasets_in_a_random_order():
    """So no hour, and no state of what lives on, is one dataset's."""
    order = []

    def one(task, unit):
        order.append(task)
        return [len(order)]

    subject = SimpleNamespace(task=lambda dataset: dataset, _one=one)
    found = Foreign._one_in_turn(subject, ([0.0], [1.0]), 200, np.random.SeedSequence(3))
    assert [len(side) for side in found] == [200, 200]
    half = [number <= 200 for number in found[0]]  # those of the dataset in the first half
    assert 70 < sum(half) < 130


# What a new interpreter shows of what never varied


def said_of(watched):
    """Return what is said of two parts that never vary and one that does, looked at again."""
    usual = [of_parts(ONE, 3 * ONE, NOISE), of_parts(2 * ONE, 4 * ONE, NOISE)]

    def watch(datasets, *_):
        assert datasets == [PAIR.dataset, PAIR.neighbour]
        if isinstance(watched, Exception):
            raise watched
        return watched

    mechanism = SimpleNamespace(watched=watch)
    look = keeping.RefutationLook(mechanism, PAIR, 1, lambda *_: [], lambda given: given)
    return look._outside(usual)


def again(*rows):
    return keeping.CountedOutputs(np.array(rows), len(rows))


P, Q = (1.0, 3.0, 0.5), (2.0, 4.0, 0.7)


@pytest.mark.parametrize(
    ("dataset", "neighbour", "varies"),
    [
        ([P, P, P], [Q, Q, Q], False),
        ([P, P, (1.0, 3.0, 9.0)], [Q, Q, Q], False),  # of a part that varies anyway
        ([P, P, (9.0, 3.0, 0.5)], [Q, Q, Q], True),
        ([P, P, (1.0, 9.0, 0.5)], [Q, Q, Q], True),
        ([P, P, P], [Q, (2.0, 9.0, 0.7), Q], True),
        ([(9.0, 3.0, 0.5)] * 3, [Q, Q, Q], True),
        ([Q, Q, Q], [P, P, P], True),
    ],
)
def test_what_is_another_number_in_a_new_interpreter_may_be_kept_noise(dataset, neighbour, varies):
    said = said_of(([], [again(*dataset), again(*neighbour)]))
    assert ("in a new interpreter" in said) is varies
    assert (said == "") is not varies


def test_what_was_touched_is_named_and_so_is_that_there_was_no_time():
    same = [again(P, P, P), again(Q, Q, Q)]
    assert "file 'key.txt'" in said_of(([("file", "key.txt")], same))
    assert said_of(DrawTimeout("over")) == keeping._NO_TIME
    noise = of_parts(NOISE, NOISE)
    look = keeping.RefutationLook(None, PAIR, 1, lambda *_: [], lambda given: given)
    assert look._outside([noise, noise]) == ""  # nothing is fixed, and nobody is asked


@pytest.mark.parametrize(("keeps_nothing", "left"), [(True, []), (False, [("file", "a")])])
def test_what_an_import_read_counts_unless_nothing_is_kept_of_it(monkeypatch, keeps_nothing, left):
    watch = SimpleNamespace(on=False, own={"toy"}, touches={})

    def imported(task, rng):
        assert watch.on
        watch.touches["file", "a"] = None
        return "a call"

    def keeps(function, own, before):
        assert (function, own) == ("f of toy.py", ("toy",))
        assert "numpy" in before
        return keeps_nothing

    monkeypatch.setattr(child, "_Call", SimpleNamespace(of=imported))
    monkeypatch.setattr(child, "_function", lambda file, name: f"{name} of {file}")
    monkeypatch.setattr(child, "_module_of", lambda *_: SimpleNamespace(keeps_nothing_read=keeps))
    task = {"file": "toy.py", "function": "f", "watching": "there"}
    assert child._imported(task, watch, np.random.default_rng(1)) == "a call"
    assert list(watch.touches) == left
    assert not watch.on
