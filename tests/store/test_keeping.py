"""What is kept is not drawn again, and what is not the same never meets it."""

import os
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.random import SeedSequence

import dpaudit
from dpaudit.execution import Executor, plan_units
from dpaudit.execution.units import Stage, Unit, stream
from dpaudit.store.catalogue import list_audit_stages, list_store_entries
from dpaudit.store.file import Store, StoreError
from dpaudit.store.keeping import (
    NotKept,
    Storing,
    _describe_stage_units,
    keep_audit,
    use_storing,
    where_stored,
)

UNITS = plan_units(60, size=10, seed=stream(0, "test of keeping"))


class Drawing:
    """Counts what it draws, and fails at a unit, if it is told to."""

    __identity__ = "drawing"

    def __init__(self, fails_at=None, scale=1.0):
        self.drawn, self.fails_at, self.scale = 0, fails_at, scale

    def __call__(self, unit):
        if self.drawn == self.fails_at:
            raise KeyboardInterrupt
        self.drawn += 1
        return unit.generator().random(unit.trials)


def run(path, task, *known_by, units=UNITS, stage="drawing", **where):
    with use_storing(Storing(path, **where)), keep_audit("test", *known_by) as ledger:
        found = list(Executor().map(task, units, stage))
        ledger.end()
    return np.concatenate(found)


@pytest.mark.parametrize("fails_at", range(len(UNITS)))
def test_only_what_was_lost_is_drawn_again(tmp_path, fails_at):
    whole = run(tmp_path / "other", Drawing())
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "store", Drawing(fails_at))
    again = Drawing()
    np.testing.assert_array_equal(run(tmp_path / "store", again), whole)
    assert again.drawn == len(UNITS) - fails_at


def drawn_anew(path, *known_by, **others):
    task = Drawing()
    run(path, task, *known_by, **others)
    return task.drawn


def test_another_audit_stage_plan_or_seed_is_drawn_anew(tmp_path):
    path = tmp_path / "store"
    assert drawn_anew(path, 1) == len(UNITS)
    assert drawn_anew(path, 1) == 0
    assert drawn_anew(path, 2) == len(UNITS)
    assert drawn_anew(path, 1, stage="another") == len(UNITS)
    other_seed = plan_units(60, size=10, seed=stream(1, "test of keeping"))
    assert drawn_anew(path, 1, units=other_seed) == len(UNITS)
    assert drawn_anew(path, 1, units=plan_units(60, 20, stream(0, "test of keeping"))) == 3


def unit(trials=10, entropy=7, key=(1, 2), which=0):
    return Unit(trials, np.random.SeedSequence(entropy, spawn_key=key), which)


OTHERS = {
    "trials": unit(trials=11),
    "entropy": unit(entropy=8),
    "the first part of a key": unit(key=(2, 2)),
    "the last part of a key": unit(key=(1, 3)),
    "a longer key": unit(key=(1, 2, 0)),
    "side": unit(which=1),
}


@pytest.mark.parametrize("place", [0, 1, 2000])
@pytest.mark.parametrize("other", OTHERS)
def test_a_plan_with_one_other_unit_is_another_plan(tmp_path, other, place):
    units = [unit(key=(1, n)) if n != place else unit() for n in range(2001)]
    others = [*units[:place], OTHERS[other], *units[place + 1 :]]
    with use_storing(Storing(tmp_path / "store")), keep_audit("test") as ledger:
        ledger.stage(Drawing(), units, "drawing").keep([place], [np.zeros(10)])
        assert ledger.stage(Drawing(), units, "drawing").there == {place}
        assert ledger.stage(Drawing(), others, "drawing").there == set()


def test_what_progress_shows_is_no_key(tmp_path):
    """A stage with another label has the same numbers, and what is kept of it is its own."""
    first = run(tmp_path / "store", Drawing(), stage=Stage("drawing"))
    again = Drawing()
    shown = Stage("drawing", label="something else")
    np.testing.assert_array_equal(run(tmp_path / "store", again, stage=shown), first)
    assert (again.drawn, shown.shown) == (0, "something else")


def test_the_same_units_in_another_order_are_another_plan(tmp_path):
    units = [unit(), unit(which=1), unit(which=1, key=(1, 3))]
    for turned in ([units[1], units[0], units[2]], [units[0], units[2], units[1]]):
        with use_storing(Storing(tmp_path / "store")), keep_audit("test") as ledger:
            ledger.stage(Drawing(), units, "drawing").keep([0], [np.zeros(10)])
            assert ledger.stage(Drawing(), turned, "drawing").there == set()


def test_one_stage_of_two_audits_is_two(tmp_path):
    path = tmp_path / "store"
    for number in range(3):
        run(path, Drawing(), number)
    with Store(path) as store:
        assert [entry.units for entry in list_store_entries(store)] == [len(UNITS)] * 3
        store.run("DELETE FROM audits WHERE id = 2")
    assert [drawn_anew(path, number) for number in range(3)] == [0, len(UNITS), 0]


def test_seconds_add_up_over_interruptions(tmp_path):
    path, taken = tmp_path / "store", []
    for fails_at in (2, 2, None):
        try:
            run(path, Drawing(fails_at))
        except KeyboardInterrupt:
            pass
        with Store(path) as store:
            store.run("UPDATE audits SET seconds = seconds + 100")
            taken.append(list_store_entries(store)[0].seconds)
    assert [int(one) // 100 for one in taken] == [1, 2, 3]


def test_what_nobody_can_look_at_is_said_and_not_kept(tmp_path):
    with pytest.warns(NotKept, match=r"a change is not seen of files whose names it works out"):
        run(tmp_path / "store", Drawing(), reading_what_it_is_told)
    assert not (tmp_path / "store").exists()


def test_what_nobody_can_look_at_is_not_kept_beside_a_report(tmp_path):
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotKept)
            run(tmp_path / "store", Drawing(), reading_what_it_is_told, at_once=False)
        assert not (tmp_path / "store").exists()


def reading_what_it_is_told(name):
    return open(name).read()


def test_what_its_author_answers_for_is_kept_until_that_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(reading_what_it_is_told, "__identity__", "one", raising=False)
    assert drawn_anew(tmp_path / "store", reading_what_it_is_told) == len(UNITS)
    assert drawn_anew(tmp_path / "store", reading_what_it_is_told) == 0
    monkeypatch.setattr(reading_what_it_is_told, "__identity__", "two")
    assert drawn_anew(tmp_path / "store", reading_what_it_is_told) == len(UNITS)


def times(scale, unit):
    return scale * unit.generator().random(unit.trials)


def test_a_task_with_other_arguments_is_another_one(tmp_path):
    one = run(tmp_path / "store", partial(times, np.array([1.0])))
    two = run(tmp_path / "store", partial(times, np.array([2.0])))
    np.testing.assert_array_equal(two, 2 * one)


def test_a_task_with_another_argument_by_name_is_another_one(tmp_path):
    one = run(tmp_path / "store", partial(to_a_power, power=1))
    two = run(tmp_path / "store", partial(to_a_power, power=2))
    np.testing.assert_array_equal(two, one**2)


def to_a_power(unit, *, power):
    return unit.generator().random(unit.trials) ** power


def test_decisions_are_kept_with_what_they_are_about(tmp_path):
    def decide(about, value):
        with use_storing(Storing(tmp_path / "store")), keep_audit("test", 1) as ledger:
            return ledger.fact("size", lambda: value, about)

    assert decide("a", 1) == 1
    assert decide("a", 2) == 1
    assert decide("b", 3) == 3


def test_what_is_not_typed_data_is_drawn_again(tmp_path):
    def strange(unit):
        return {unit.trials, "a set"}

    strange.__identity__ = "strange"
    for _ in range(2):
        with use_storing(Storing(tmp_path / "store")), keep_audit("test", 1):
            found = list(Executor().map(strange, UNITS, "drawing"))
        assert found == [{10, "a set"}] * len(UNITS)


def test_what_nothing_identifies_is_said_and_not_kept(tmp_path):
    with (tmp_path / "open").open("w") as file:
        with pytest.warns(NotKept, match="nothing identifies"):
            run(tmp_path / "store", Drawing(), file)
        assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("worth", "in_the_end", "warned"), [(0.0, True, True), (1e9, True, False), (0.0, False, False)]
)
def test_beside_a_report_what_is_not_kept_is_said_if_it_took_long(
    tmp_path, monkeypatch, worth, in_the_end, warned
):
    monkeypatch.setattr("dpaudit.store.keeping._WORTH", worth)
    with (tmp_path / "open").open("w") as file, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run(tmp_path / "store", Drawing(), file, at_once=False, in_the_end=in_the_end)
    assert [one.category for one in said] == [NotKept] * warned
    assert not (tmp_path / "store").exists()


def test_a_file_that_nobody_named_is_begun_when_it_is_worth_it(tmp_path):
    run(tmp_path / "store", Drawing(), at_once=False, in_the_end=False)
    assert not (tmp_path / "store").exists()
    run(tmp_path / "store", Drawing(), at_once=False, in_the_end=True)
    with Store(tmp_path / "store") as store:
        (entry,) = list_store_entries(store)
        assert (entry.units, entry.planned, bool(entry.ended)) == (6, 6, True)
        assert [(one.trials, one.units, one.kept) for one in list_audit_stages(store, 1)] == [
            (60, 6, 6)
        ]


def test_a_store_that_becomes_full_is_given_up_and_the_audit_goes_on(tmp_path):
    where = Storing(tmp_path / "store")
    with use_storing(where), keep_audit("test", 1):
        where.open().run("PRAGMA max_page_count=14")
        with pytest.warns(NotKept, match=r"the disk is full.*goes on and is not kept"):
            found = list(Executor().map(_large, UNITS, "drawing"))
    assert len(found) == len(UNITS)


def _large(unit):
    return unit.generator().random(20_000)


def test_a_damaged_block_is_said_and_nothing_is_made_up(tmp_path):
    path = tmp_path / "store"
    run(path, Drawing())
    with Store(path) as store:
        store.run("UPDATE blocks SET data = X'00000002' WHERE place = 3")
    with pytest.raises(StoreError, match="damaged"):
        run(path, Drawing())


def test_nothing_is_stored_outside_the_block(tmp_path):
    with use_storing(Storing(tmp_path / "store")):
        assert where_stored() is not None
    assert where_stored() is None


def test_another_machine_is_named(tmp_path):
    path = tmp_path / "store"
    run(path, Drawing())
    with Store(path) as store:
        store.run("""UPDATE audits SET machine = '{"processor": "an older one"}'""")
    with use_storing(Storing(path)), keep_audit("test") as ledger:
        assert any(one.startswith("processor an older one, now") for one in ledger.elsewhere)


def test_a_machine_that_only_went_on_is_named_too(tmp_path):
    path = tmp_path / "store"
    run(path, Drawing())
    with Store(path) as store:
        other = 'machine: {"processor": "one in between"}'
        store.write("INSERT INTO facts VALUES (1, ?, x'')", [(other,)])
    with use_storing(Storing(path)), keep_audit("test") as ledger:
        assert any(one.startswith("processor one in between, now") for one in ledger.elsewhere)


def test_of_two_programs_that_decide_at_once_the_first_decides(tmp_path):
    def decided(value, meanwhile=lambda: None):
        with use_storing(Storing(tmp_path / "store")), keep_audit("test") as ledger:
            return ledger.fact("size", lambda: meanwhile() or value)

    other = []
    assert decided(1, lambda: other.append(decided(2))) == 2
    assert other == [2]


def test_units_that_another_program_forgot_are_said(tmp_path):
    path = tmp_path / "store"
    run(path, Drawing())
    with use_storing(Storing(path)) as _, keep_audit("test") as ledger:
        stage = ledger.stage(Drawing(), UNITS, "drawing")
        with Store(path) as store:
            store.run("DELETE FROM blocks")
        with pytest.raises(StoreError, match="forgot what it kept"):
            stage.load(0)


def test_places_that_no_unit_has_are_not_met(tmp_path):
    path = tmp_path / "store"
    run(path, Drawing())
    with Store(path) as store:
        store.run("UPDATE blocks SET place = -1 WHERE place = 0")
        store.run("UPDATE blocks SET place = 99 WHERE place = 1")
        store.run("UPDATE blocks SET place = 'two' WHERE place = 2")
        store.run("UPDATE blocks SET place = 6 WHERE place = 5")
    again = Drawing()
    run(path, again)
    assert again.drawn == 4


def counting(scale):
    """Return a mechanism that writes down how much it draws, wherever it runs."""

    def noisy(data, trials, rng):
        with open(os.environ["CALLS"], "a") as file:
            file.write(f"{trials}\n")
        return sum(data) + rng.laplace(scale=scale, size=trials)

    return noisy


NOISY = counting(1.0)


@pytest.fixture
def audited(tmp_path, monkeypatch):
    calls = tmp_path / "calls"
    monkeypatch.setenv("CALLS", str(calls))

    def audited(mechanism=NOISY, pair=((0.0,), (1.0,)), **others):
        calls.write_text("")
        given = {"epsilon": 1.0, "trials": 600, "store": tmp_path / "store"} | others
        with warnings.catch_warnings():
            warnings.simplefilter("error", NotKept)
            found = dpaudit.audit(mechanism, *pair, **given)
        return found, sum(map(int, calls.read_text().split()))

    return audited


def test_an_audit_in_python_is_kept_and_not_drawn_again(audited):
    first, drawn = audited()
    again, drawn_again = audited()
    assert again.measured == first.measured
    assert drawn > 1200
    assert drawn_again < 100  # how the outputs look, at most


@pytest.mark.parametrize(
    "other",
    [
        {"mechanism": counting(2.0)},
        {"pair": ((0.0,), (0.5,))},
        {"seed": 1},
        {"trials": 601},
        {"confidence": 0.9},
    ],
    ids=lambda other: next(iter(other)),
)
def test_whatever_determines_the_numbers_another_one_is_drawn_anew(audited, other):
    audited()
    kept_one, drawn = audited(**other)
    fresh, drawn_fresh = audited(**other, store=None)
    assert kept_one.measured == fresh.measured
    assert min(drawn, drawn_fresh) > 1200  # how many more hangs on the machine's pace


def test_a_store_never_changes_a_number(audited):
    assert audited()[0].measured == audited(store=None)[0].measured


def turned(unit):
    """Return numbers in another order of memory, after an array of an odd number of bytes."""
    numbers = unit.generator().random((3, unit.trials)) ** 9
    return np.zeros(3, bool), numbers.T, {"some": numbers[:, ::2]}


turned.__identity__ = "turned"


def test_numbers_lie_the_same_whether_they_were_kept_or_not(tmp_path):
    units = plan_units(3000, size=1000, seed=stream(0, "test of keeping"))
    runs = []
    for _ in range(2):
        with use_storing(Storing(tmp_path / "store")), keep_audit("test"):
            runs.append(list(Executor().map(turned, units, "drawing")))
    for first, again in zip(*runs, strict=True):
        for one, other in ((first[1], again[1]), (first[2]["some"], again[2]["some"])):
            assert one.strides == other.strides
            assert other.flags.aligned
            assert other.flags.writeable
            assert one.sum() == other.sum()


def test_what_is_missing_is_begun_before_what_is_kept_is_read(tmp_path):
    path, order = tmp_path / "store", []
    with pytest.raises(KeyboardInterrupt):
        run(path, Drawing(fails_at=len(UNITS) - 1))

    class Noting(Drawing):
        def __call__(self, unit):
            order.append("drawn")
            return super().__call__(unit)

    with use_storing(Storing(path)), keep_audit("test"):
        for _ in Executor().map(Noting(), UNITS, "drawing"):
            order.append("there")
    assert order == ["drawn", *["there"] * len(UNITS)]


def test_units_are_known_by_all_of_their_seeds():
    """Children of one seed share its entropy, and draw other numbers."""
    seeds = [SeedSequence(5), *SeedSequence(5).spawn(2), SeedSequence(6)]
    assert len({repr(_describe_stage_units(plan_units(100, 50, seed))) for seed in seeds}) == 4


def test_the_machine_that_began_is_named_beside_those_that_went_on(tmp_path):
    """What this one adds of itself says nothing of the one before it."""
    path = tmp_path / "store"
    run(path, Drawing())
    with Store(path) as store:
        store.run("""UPDATE audits SET machine = '{"processor": "the first"}'""")
        other = 'machine: {"processor": "the second"}'
        store.write("INSERT INTO facts VALUES (1, ?, x'')", [(other,)])
    with use_storing(Storing(path)), keep_audit("test") as ledger:
        found = {one.partition(", now")[0] for one in ledger.elsewhere}
    assert {"processor the first", "processor the second"} <= found
