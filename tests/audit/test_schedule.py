"""An audit with a time: told at once that it cannot do, or ended in time, with the same numbers."""

from __future__ import annotations

import time

import numpy as np
import pytest

import dpaudit
import dpaudit.auditing.api as api
import dpaudit.auditing.estimators.group_sequential as group_sequential
from dpaudit.auditing.estimators.group_sequential import (
    LookClock,
    Slowly,
    chosen_on,
    compute_epsilon_ceiling,
)
from dpaudit.auditing.sampling.first_outputs import SLOW, first_outputs
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Executor
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism
from dpaudit.neighbours.found_relations import FoundPair
from dpaudit.report.formatting import make_shown_numbers
from dpaudit.store.catalogue import list_store_entries
from dpaudit.store.file import Store

HERE = Isolation(in_process=True)
PAIR = [1.0, 2.0], [0.0, 2.0]


def slow(data, rng):
    time.sleep(0.02)
    return sum(data) + rng.laplace(scale=0.05)


def private(data, rng):
    time.sleep(0.02)
    return sum(data) + rng.laplace(scale=1.0)


def planned(seconds, pace, workers=2, trials=10_000):
    clock = LookClock(seconds, trials, 0.0, 0.0, lambda: 0.0)
    clock.probed(pace, Slowly(workers, 0.1))
    return clock


@pytest.mark.parametrize("pace", [0.01, 0.25, 1.0])
@pytest.mark.parametrize("seconds", [20.0, 60.0, 600.0])
def test_what_is_planned_fits_or_is_refused_at_once(pace, seconds):
    clock = planned(seconds, pace)
    if pace == 1.0 and seconds <= 60:
        with pytest.raises(InvalidArgument, match=r"at least [4-6]. seconds"):
            clock.require(0.05, (1.0, 0.0))
        return
    clock.require(0.05, (1.0, 0.0))
    look = clock.first
    assert compute_epsilon_ceiling(look.trials, 0.05 * look.share, 0.0) > 1.0
    drawn = 2 * (look.trials + min(chosen_on(look.trials), look.trials))
    assert drawn * pace / 2 < seconds


def test_an_epsilon_that_nothing_refutes_is_no_matter_of_time():
    with pytest.raises(InvalidArgument, match="no number of outputs refutes 40"):
        planned(60.0, 1.0).require(0.05, (40.0, 0.0))


def test_the_time_that_is_asked_for_would_do():
    with pytest.raises(InvalidArgument) as error:
        planned(10.0, 1.0).require(0.05, (1.0, 0.0))
    needed = float(str(error.value).partition("at least ")[2].partition(" ")[0])
    planned(needed + 1, 1.0).require(0.05, (1.0, 0.0))
    with pytest.raises(InvalidArgument):
        planned(0.8 * needed, 1.0).require(0.05, (1.0, 0.0))


def test_too_little_time_is_told_before_it_is_over():
    calls = []

    def noted(data, rng):
        calls.append(1)
        return private(data, rng)

    with pytest.raises(InvalidArgument, match=r"time: got 0\.5, expected at least "):
        dpaudit.audit(noted, *PAIR, epsilon=1.0, time=0.5, isolation=HERE)
    assert len(calls) <= 8  # two of each dataset, and once more


@pytest.mark.parametrize("since", [None, 5.0])
def test_a_time_counts_from_the_call_on_or_from_what_is_given(monkeypatch, since):
    seen = []

    def run_case(*_, executor, **__):
        seen.append(executor.since)
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "run_case", run_case)
    monkeypatch.setattr(
        api, "find_pair_relation", lambda *given: seen.append(time.monotonic()) or FoundPair(None)
    )
    monkeypatch.setattr(api, "own_case", lambda *_, **__: (None, None))
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        dpaudit.audit(private, *PAIR, epsilon=1.0, time=9.0, executor=Executor(since=since))
    found, counted = seen
    assert counted == since if since is not None else began <= counted <= found


def test_what_the_command_took_to_start_counts(tmp_path, monkeypatch, capsys):
    from dpaudit.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.py").write_text(
        "def f(data, rng):\n    return sum(data) + rng.laplace(scale=0.05)\n"
    )
    for name, rows in zip(("x.csv", "y.csv"), PAIR, strict=True):
        (tmp_path / name).write_text("\n".join(map(str, rows)) + "\n")
    words = "audit quick:f --dataset x.csv --neighbour y.csv --epsilon 1 --time 30 --no-store"
    with pytest.raises(SystemExit) as ended:
        main([*words.split(), "--quiet"], began=time.monotonic() - 90)
    assert ended.value.code == 2
    assert "withheld, as the time of 30 s ended" in capsys.readouterr().err


def quick(data, rng):
    return sum(data) + rng.laplace(scale=1.0)


@pytest.mark.parametrize(
    "isolation", [HERE, pytest.param(Isolation(), marks=pytest.mark.slow)], ids=["here", "workers"]
)
def test_a_time_that_is_over_before_the_first_look_withholds_the_verdict(monkeypatch, isolation):
    monkeypatch.setattr(
        group_sequential, "_OVER", -1.0
    )  # so that it is over however fast the machine is
    given = {"epsilon": 2.0, "time": 1e-6, "isolation": isolation}
    found = dpaudit.audit(quick, *PAIR, **given)
    assert (found.verdict, found.trials, found.budget) == ("withheld", 0, [])
    assert [check.name for check in found.contract] == ["time"]
    assert "the time of 1e-06 s ended" in found.reason
    assert "time=1e-06" in found.rerun
    shown = make_shown_numbers(found)
    assert (shown.measured, shown.surety) == ("—", "nothing is certified")


def test_what_time_cut_off_has_not_ended_for_its_store(monkeypatch, tmp_path):
    """The store does not take an audit for ended that certified nothing."""
    monkeypatch.setattr(group_sequential, "_OVER", -1.0)
    given = {"store": tmp_path / "s.db", "isolation": HERE, "epsilon": 2.0, "seed": 3}
    assert dpaudit.audit(quick, *PAIR, time=1e-6, **given).verdict == "withheld"
    with Store(tmp_path / "s.db") as store:
        (entry,) = list_store_entries(store)
    assert entry.ended is None


def seconds_of(mechanism, seconds):
    began = time.monotonic()
    try:
        found = dpaudit.audit(mechanism, *PAIR, epsilon=2.0, time=seconds)
    except InvalidArgument as error:
        found = error
    return time.monotonic() - began, found


def found_in(mechanism, seconds):
    """Return what an audit finds in so many seconds, or in more where a busy machine takes them.

    Each ends in time, also one that is refused, or withheld since its first look did not end.
    """
    started, found = seconds_of(mechanism, 0.01)
    assert has_nothing(found)
    for given in (seconds, 2 * seconds, 4 * seconds, 8 * seconds):
        took, found = seconds_of(mechanism, given)
        assert took < given + 5 + 2 * started
        if not has_nothing(found):
            return found
    raise AssertionError(found)


def has_nothing(found):
    return isinstance(found, InvalidArgument) or found.verdict == "withheld"


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "seconds"), [(slow, 8.0), (private, 5.0)])
def test_an_audit_ends_in_time_and_can_be_repeated(mechanism, seconds):
    found = found_in(mechanism, seconds)
    assert found.verdict == ("refuted" if mechanism is slow else "not refuted")
    assert found.rerun.endswith(", unit=1)")
    if mechanism is private:
        names = {"mechanism": mechanism, "dataset": PAIR[0], "neighbour": PAIR[1]}
        again = eval(found.rerun, names | {"dpaudit": dpaudit})
        assert (again.measured, again.verdict) == (found.measured, found.verdict)
        assert again.rerun == found.rerun


def test_every_line_that_repeats_holds_the_unit():
    def quick(data, trials, rng):
        return np.sum(data) + rng.laplace(scale=0.5, size=trials)

    for given in ({"trials": 500}, {"looks": ((200, 0.1), (300, 0.8))}):
        found = dpaudit.audit(quick, *PAIR, epsilon=1.0, isolation=HERE, **given)
        assert "unit=" in found.rerun


def test_first_outputs_are_shared_out_and_show_the_pace():
    placed = isolate_mechanism(private, Isolation())
    with placed.mechanism.crew:
        found = first_outputs(placed.mechanism, list(PAIR), 0, Executor(workers=2))
    assert found.is_slow
    assert not found.has_own_randomness
    assert SLOW < 0.02 <= min(found.seconds) <= found.seconds_per_output
    assert len(found.seconds) == 8  # two of each dataset, twice


DRAWN = []


def once_a_process(data, rng):
    """Return what is private: one draw of a process stays, and each call adds a little."""
    time.sleep(2 * SLOW)
    if not DRAWN:
        DRAWN.append(rng.laplace())
    return sum(data) + DRAWN[0] + rng.laplace(scale=0.05)


LOOKS = [14, pytest.param(30, marks=pytest.mark.slow), pytest.param(120, marks=pytest.mark.slow)]


@pytest.mark.parametrize("trials", LOOKS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_few_slow_outputs_accuse_no_noise_that_a_process_draws_once(trials, seed):
    """About as many as a minute has of calls that take a second, drawn as slow ones are."""
    settings = {"looks": ((trials, 0.8),), "unit": 1, "seed": seed}
    found = dpaudit.audit(once_a_process, *PAIR, epsilon=1.0, **settings)
    assert found.verdict in ("withheld", "not refuted")


STATE = np.random.default_rng(3)


def of_its_own(data, rng):
    time.sleep(0.01)
    return sum(data) + STATE.laplace()


def test_noise_that_is_not_the_generators_is_seen():
    assert first_outputs(as_mechanism(of_its_own), list(PAIR), 0, Executor()).has_own_randomness


def quickly(data, rng):
    return {"sum": sum(data) + rng.laplace(), "name": "one"}


def test_quick_outputs_are_drawn_once():
    found = first_outputs(as_mechanism(quickly), list(PAIR), 0, Executor())
    assert not found.is_slow
    assert len(found.seconds) == 4


@pytest.mark.parametrize("returned", [1.5, "text", [1.0, float("nan")], {"a": None}])
def test_a_digest_is_that_of_the_output(returned):
    same = as_mechanism(lambda data, rng: returned)
    other = as_mechanism(lambda data, rng: [returned])
    digests = [one.glance([1.0], 1, np.random.default_rng(0))[0] for one in (same, same, other)]
    assert digests[0] == digests[1] != digests[2]
