"""The file in the user's cache: what was interrupted goes on, what ended is drawn again."""

import pytest

from dpaudit.store import cache
from dpaudit.store.catalogue import list_store_entries
from dpaudit.store.file import Store
from dpaudit.store.keeping import NotKept, Storing, keep_audit, use_storing

from .test_keeping import UNITS, Drawing, run


@pytest.fixture
def draws(tmp_path, monkeypatch):
    """Return how many units are drawn where nobody names a file."""
    monkeypatch.setattr("dpaudit.store.keeping._WORTH", 0.0)

    def draws(*known_by, fails_at=None):
        task = Drawing(fails_at)
        usual = {"at_once": False, "in_the_end": False, "for_a_while": True}
        try:
            run(tmp_path / "cache", task, *known_by, **usual)
        except KeyboardInterrupt:
            pass
        return task.drawn

    return draws


def test_what_ended_is_drawn_again(draws):
    assert [draws(), draws(), draws()] == [len(UNITS)] * 3


def test_what_was_interrupted_goes_on_and_is_then_drawn_again(draws):
    assert draws(fails_at=4) == 4
    assert draws() == len(UNITS) - 4
    assert draws() == len(UNITS)


def test_an_audit_that_ends_twice_is_set_aside_once(tmp_path):
    with Store(tmp_path / "store") as store:
        begun(store, "2026-01-01T00:00:00+00:00")
        cache.set_aside(store, 1, "then")
        cache.set_aside(store, 1, "later")
        assert store.run("SELECT identity, ended FROM audits") == [("1 ended 1", "then")]


def test_two_programs_on_one_audit_both_end(tmp_path, monkeypatch):
    monkeypatch.setattr("dpaudit.store.keeping._WORTH", 0.0)
    usual = {"at_once": False, "in_the_end": False, "for_a_while": True}
    others = []

    class Meanwhile(Drawing):
        def __call__(self, unit):
            if self.drawn == 3:  # another program draws all of it, and ends
                other = Drawing()
                run(tmp_path / "cache", other, **usual)
                others.append(other.drawn)
            return super().__call__(unit)

    task = Meanwhile()
    run(tmp_path / "cache", task, **usual)
    assert (task.drawn, others) == (len(UNITS), [len(UNITS) - 3])


def begun(store, when, size=10, ended=None, name="n"):
    number = 1 + store.run("SELECT count(*) FROM audits")[0][0]
    row = (number, str(number), name, when, ended)
    store.write(
        "INSERT INTO audits (id, identity, name, command, machine, began, ended) "
        "VALUES (?, ?, ?, '[]', '{}', ?, ?)",
        [row],
    )
    store.write("INSERT INTO stages VALUES (?, ?, 's', 's', 1, 1)", [(number, number)])
    data = b"x" * size
    store.write("INSERT INTO blocks (stage, place, data) VALUES (?, 0, ?)", [(number, data)])


def left(store):
    cache.remove_stale_audits(store)
    return [int(number) for (number,) in store.run("SELECT id FROM audits ORDER BY id")]


def test_what_is_old_is_forgotten(tmp_path):
    with Store(tmp_path / "store") as store:
        begun(store, cache.iso_before(days=31))
        begun(store, cache.iso_before(days=29))
        begun(store, cache.iso_before(days=1), ended=cache.iso_before(hours=2))
        begun(store, cache.iso_before(days=1), ended=cache.iso_before(hours=0.5))
        assert left(store) == [2, 4]


def test_of_too_much_the_oldest_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "MOST", 250)
    with Store(tmp_path / "store") as store:
        for days in (3, 1, 2):
            begun(store, cache.iso_before(days=days), size=100)
        assert left(store) == [2, 3]


def test_the_file_becomes_smaller(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_WORTH", 10**5)
    path = tmp_path / "store"
    with Store(path) as store:
        begun(store, cache.iso_before(days=31), size=10**6)
    assert path.stat().st_size > 10**6
    with Store(path) as store:
        assert left(store) == []
    assert path.stat().st_size < 10**5


def test_of_one_audit_it_keeps_so_much_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("dpaudit.store.keeping.MOST", 100)
    monkeypatch.setattr("dpaudit.store.keeping._WORTH", 0.0)
    task = Drawing()
    usual = {"at_once": False, "in_the_end": False, "for_a_while": True}
    with pytest.warns(NotKept, match=r"1 GiB at most; name a file of its own with --store"):
        run(tmp_path / "cache", task, **usual)
    assert task.drawn == len(UNITS)


def test_a_file_that_somebody_named_keeps_what_ended(tmp_path):
    tasks = [Drawing(), Drawing()]
    for task in tasks:
        run(tmp_path / "named", task)
    assert [task.drawn for task in tasks] == [len(UNITS), 0]


def test_what_was_taken_is_counted(tmp_path):
    run(tmp_path / "store", Drawing())
    where = Storing(tmp_path / "store")
    with use_storing(where), keep_audit("test") as ledger:
        stage = ledger.stage(Drawing(), UNITS, "drawing")
        loaded = [stage.load(place) for place in sorted(stage.there)[:4]]
    assert where.taken == sum(map(len, loaded)) == 40
    with Store(tmp_path / "store") as store:
        assert [one.units for one in list_store_entries(store)] == [len(UNITS)]
